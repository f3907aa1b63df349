// The meaning of CUDA and NVML error codes, and what to do about them.
// SPDX-License-Identifier: MIT
#pragma once

namespace glint::gpu {

struct Advice {
    int first, last;  ///< codes
    const char* meaning;
    const char* remedy;
};

/// Returns the entry for a result of the CUDA driver; null for success and for unknown codes.
const Advice* cuda_advice(int result);
/// Returns the entry for a result of NVML; null for success and for unknown codes.
const Advice* nvml_advice(int result);

}  // namespace glint::gpu
