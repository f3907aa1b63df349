// The joint fit of one group on the CPU, for one model and instruction set.
// SPDX-License-Identifier: MIT
#pragma once

#include "fit/joint/joint_batch.hpp"
#include "fit/joint/search.hpp"

namespace glint::GLINT_ISA {
namespace {

template <class Psf>
size_t fit_joint(const KernelPsf& numbers, const JointNumbers& options, const JointImage& image, int molecules,
                 float* memory, JointResult* result) {
    JointSpace space;
    const size_t needed = space.lay_out<Psf>(memory, image.pitch, image.height, molecules);
    if (!memory) return needed;
    const Psf psf{numbers};
    JointGroup<Psf> group(image, psf, options, space);
    JointState state = space.states[0];
    state.count = result->count, state.bg = result->bg;
    for (int e = 0; e < state.count; ++e)
        for (int k = 0; k < JointGroup<Psf>::P; ++k) state.of(e)[k] = result->theta[e][k];
    JointSearch<Psf> search(group);
    if (image.searched) {
        search.run(state, *result);
    } else {
        search.fit_all(state, 0);
        group.finish(state, *result);
    }
    return needed;
}

}  // namespace
}  // namespace glint::GLINT_ISA

/// Defines the function that fit/joint/joint_batch.hpp declares for one model.
#define GLINT_JOINT_MODEL(name)                                                                                       \
    size_t glint::GLINT_ISA::joint_##name(const KernelPsf& psf, const JointNumbers& options, const JointImage& image, \
                                          int molecules, float* memory, JointResult* result) {                        \
        return fit_joint<glint::GLINT_ISA::name>(psf, options, image, molecules, memory, result);                     \
    }
