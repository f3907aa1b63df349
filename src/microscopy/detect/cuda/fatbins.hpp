// The detection kernels' machine code (fatbin), embedded by cmake/cuda.cmake.
// SPDX-License-Identifier: MIT
#pragma once

#include <span>

namespace glint {

/// k = 0: detect.cu. Empty if glint was built without nvcc.
std::span<const unsigned char> detect_fatbin(int k);

}  // namespace glint
