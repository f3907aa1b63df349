// The joint fit of one group on the CPU, and the light of molecules beside it, for one model and instruction set.
// SPDX-License-Identifier: MIT
#pragma once

#include "fit/joint/joint_batch.hpp"
#include "fit/joint/search.hpp"

namespace glint::GLINT_ISA {
namespace {

template <class Psf>
size_t fit_joint(const KernelPsf& numbers, const JointNumbers& options, const JointImage& image, int molecules,
                 float* memory, JointResult* result) {
    JointSpace<Psf> space;
    const size_t needed = space.lay_out(memory, image.pitch, image.height, molecules);
    if (!memory) return needed;
    search_together(Psf{numbers}, options, image, space, *result);
    return needed;
}

template <class Psf>
void add_light(const KernelPsf& numbers, const JointImage& image, const float* thetas, int count, float* memory,
               float* known) {
    EmitterImage<Psf> one;
    add_lights(Psf{numbers}, thetas, count, image, &one, memory, 1, known);
}

}  // namespace
}  // namespace glint::GLINT_ISA

/// Defines the functions that fit/joint/joint_batch.hpp declares for one model.
#define GLINT_JOINT_MODEL(name)                                                                                        \
    size_t glint::GLINT_ISA::joint_##name(const KernelPsf& psf, const JointNumbers& options, const JointImage& image,  \
                                          int molecules, float* memory, JointResult* result) {                         \
        return fit_joint<glint::GLINT_ISA::name>(psf, options, image, molecules, memory, result);                      \
    }                                                                                                                  \
    void glint::GLINT_ISA::light_##name(const KernelPsf& psf, const JointImage& image, const float* thetas, int count, \
                                        float* memory, float* known) {                                                 \
        add_light<glint::GLINT_ISA::name>(psf, image, thetas, count, memory, known);                                   \
    }
