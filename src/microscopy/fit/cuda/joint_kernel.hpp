// Joint fits on a GPU: a block is a team (fit/joint/team.hpp), and fits one group after another, starting with the cut
// of its windows.
//
// A group's numbers, 10 to 100 kB, are in global memory and stay in the caches. In shared memory, they would leave too
// few teams per multiprocessor to hide the latency. The pointers to them are in shared memory.
// SPDX-License-Identifier: MIT
#pragma once

#include "psf/gpu_lane.hpp"

#include "fit/cuda/joint_cut.hpp"
#include "fit/cuda/joint_launch.hpp"
#include "fit/joint/search.hpp"
#include "gpu/kernel_abi.hpp"

namespace glint::GLINT_ISA {

template <class Psf>
struct JointKernel {
    static constexpr unsigned max_threads = joint_team_threads;

    /// Data that all threads of a team read; one copy in shared memory.
    struct Shared {
        JointSpace<Psf> space;
        JointImage image;
        JointNumbers numbers;
        Psf psf;
    };
    static_assert(sizeof(Shared) <= joint_shared_bytes);

    /// Places are ordered by the memory that they need; a team allocates the memory of its first place. `given`: the
    /// input from which pixels are cut. `results`: the groups' start values, which their results replace.
    static GLINT_DEVICE void compute(gpu::Index index, gpu::Scratch scratch, JointLaunch launch,
                                     const JointPlace* places, const float* given, float* space, JointResult* results) {
        if (int(index.thread) >= Team::size) return;  // in the simulation, one thread is a team
        Shared& shared = *scratch.as<Shared>();
        float* own = space + places[index.block].space;
        for (unsigned k = index.block; k < launch.groups; k += index.grid_dim) {
            const JointPlace place = places[k];
            shared.numbers = launch.numbers;
            shared.numbers.max_emitters = min_of(launch.numbers.max_emitters, place.molecules);
            const size_t used = shared.space.lay_out(own, place.pitch, place.height, place.molecules);
            if constexpr (Psf::facts.source == PsfSource::table) {
                Psf psf{launch.psf};  // each thread's own: all write the same to shared memory
                psf.psf.table.values += place.cell;
                shared.psf = psf;
            } else {
                shared.psf = Psf{launch.psf};
            }
            Team::sync();
            const JointCutter<Psf> cutter(launch, place, given + place.first, own + used);
            cutter.cut(shared.image);
            const bool fits = cutter.add_light(shared.psf, shared.image, shared.space);
            if (fits) search_together(shared.psf, shared.numbers, shared.image, shared.space, results[k]);
            results[k].as_it_was = !fits;
            Team::sync();
        }
    }
};

}  // namespace glint::GLINT_ISA

#define GLINT_JOINT_KERNEL(model) \
    GLINT_KERNEL(joint_##model, 5, ::glint::GLINT_ISA::JointKernel<::glint::GLINT_ISA::model>)
