// The machine code of this layer's kernels; cmake/cuda.cmake writes the function.
// SPDX-License-Identifier: MIT
#pragma once

#include <span>

namespace glint {

/// k: 0, detect.cu. Empty where glint was built without nvcc.
std::span<const unsigned char> detect_fatbin(int k);

}  // namespace glint
