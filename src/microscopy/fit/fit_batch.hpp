// The entry to the kernel on the CPU: one function per model and instruction set, and the choice among them.
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

/// Fits ROIs [0, in.count) on the calling thread, with the model of that PsfModel number and the active instruction
/// set.
void fit_batch(int model, const KernelPsf& psf, const KernelOptions& options, const KernelInput& in,
               const KernelOutput& out);

}  // namespace glint
