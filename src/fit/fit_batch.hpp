// The entry to the kernel on the CPU: a function a model and instruction set, and the choice among them.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/isa.hpp"
#include "fit/kernel_abi.hpp"

namespace glint {

#define GLINT_PSF_MODEL(name)                                                                                \
    GLINT_PER_ISA(void fit_##name(const KernelPsf& psf, const KernelOptions& options, const KernelInput& in, \
                                  const KernelOutput& out);)
#include "glint/psf_models.inc"
#undef GLINT_PSF_MODEL

/// Fits ROIs [0, in.count) with the model of that PsfModel number, by the active instruction set; not split among threads.
void fit_batch(int model, const KernelPsf& psf, const KernelOptions& options, const KernelInput& in,
               const KernelOutput& out);

}  // namespace glint
