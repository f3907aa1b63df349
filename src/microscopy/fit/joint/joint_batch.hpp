// The entry to joint fits on the CPU: one function per model and instruction set, and the choice among them.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/isa.hpp"
#include "fit/joint/joint_abi.hpp"

namespace glint {

#define GLINT_PSF_MODEL(name)                                                                                      \
    GLINT_PER_ISA(size_t joint_##name(const KernelPsf& psf, const JointNumbers& options, const JointImage& image,  \
                                      int molecules, float* memory, JointResult* result);                          \
                  void light_##name(const KernelPsf& psf, const JointImage& image, const float* thetas, int count, \
                                    float* memory, float* known);)
#include "glint/psf_models.inc"
#undef GLINT_PSF_MODEL

/// Fits the molecules in `result` together, with the model of that PsfModel number and the active instruction set. With
/// image.searched, also finds missing molecules. `molecules`: maximum number of molecules. Returns the number of floats
/// of memory needed; if `memory` is null, does nothing else.
size_t fit_joint(int model, const KernelPsf& psf, const JointNumbers& numbers, const JointImage& image, int molecules,
                 float* memory, JointResult* result);

/// Adds the light of `count` molecules, max_psf_parameters each, to `known`, a plane of the image. `memory`: as large
/// as for a fit of one molecule.
void add_known_light(int model, const KernelPsf& psf, const JointImage& image, const float* thetas, int count,
                     float* memory, float* known);

}  // namespace glint
