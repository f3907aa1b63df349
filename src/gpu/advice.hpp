// What an error of the driver or of NVML means to a user, and what to do about it.
// SPDX-License-Identifier: MIT
#pragma once

namespace glint::gpu {

struct Advice {
    int first, last;  ///< codes
    const char* meaning;
    const char* remedy;
};

/// Of a result of the CUDA driver; null for success and for codes that are not known.
const Advice* cuda_advice(int result);
/// Of a result of NVML; null for success and for codes that are not known.
const Advice* nvml_advice(int result);

}  // namespace glint::gpu
