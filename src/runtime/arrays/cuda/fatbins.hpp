// The machine code of this layer's kernels; cmake/cuda.cmake writes the function.
// SPDX-License-Identifier: MIT
#pragma once

#include <span>

namespace glint {

/// k: 0, elementwise.cu; 1, axes.cu; 2, random.cu. Empty where glint was built without nvcc.
std::span<const unsigned char> arrays_fatbin(int k);

}  // namespace glint
