// Joint fits on a GPU: a warp is a team (fit/joint/team.hpp), and takes one group after another.
//
// A group's numbers, some 100 kB, are in global memory and stay in the caches: more than a block's shared memory would
// leave too few teams to hide the latency.
// SPDX-License-Identifier: MIT
#pragma once

#include "psf/gpu_lane.hpp"

#include "fit/cuda/joint_launch.hpp"
#include "fit/joint/search.hpp"
#include "gpu/kernel_abi.hpp"

namespace glint::GLINT_ISA {

template <class Psf>
struct JointKernel {
    static constexpr unsigned max_threads = joint_team_threads;

    /// Places are ordered by the memory that they need: a team's is that of its first. `results`: what the groups begin
    /// with, and what becomes of them.
    static GLINT_DEVICE void compute(gpu::Index index, JointLaunch launch, const JointPlace* places,
                                     const float* planes, float* space, JointResult* results) {
        if (int(index.thread) >= Team::size) return;  // simulated: a thread is a team
        float* own = space + places[index.block].space;
        for (unsigned k = index.block; k < launch.groups; k += index.grid_dim) {
            const JointPlace place = places[k];
            const size_t pixels = size_t(place.pitch) * size_t(place.height);
            const float* plane = planes + place.first;
            const JointImage image{place.width,    place.height,       place.pitch,        place.noise,       plane,
                                   plane + pixels, plane + 2 * pixels, plane + 3 * pixels, plane + 4 * pixels};
            JointNumbers numbers = launch.numbers;
            numbers.most_emitters = least_of(numbers.most_emitters, place.molecules);
            JointSpace<Psf> mine;
            mine.lay_out(own, place.pitch, place.height, place.molecules);
            const Psf psf{launch.psf};
            search_together(psf, numbers, image, mine, results[k]);
            Team::sync();
        }
    }
};

}  // namespace glint::GLINT_ISA

#define GLINT_JOINT_KERNEL(model) \
    GLINT_KERNEL(joint_##model, 5, ::glint::GLINT_ISA::JointKernel<::glint::GLINT_ISA::model>)
