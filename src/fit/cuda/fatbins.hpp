// The kernels' machine code, as cmake/cuda.cmake embedded it.
// SPDX-License-Identifier: MIT
#pragma once

#include <span>

namespace glint {

/// Of the PsfModel of that number; empty in a glint that was built without nvcc.
std::span<const unsigned char> fit_fatbin(int model);

}  // namespace glint
