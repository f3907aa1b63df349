// The entry to the kernel, one per instruction set.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/isa.hpp"
#include "fit/kernel_abi.hpp"

namespace glint {

GLINT_PER_ISA(
    /// Fits ROIs [0, in.count) with the model of that PsfModel number; not split among threads.
    void fit_batch(int model, const KernelPsf& psf, const KernelOptions& options, const KernelInput& in,
                   const KernelOutput& out);)

}  // namespace glint
