// The fit kernels' machine code (fatbins), embedded by cmake/cuda.cmake.
// SPDX-License-Identifier: MIT
#pragma once

#include <span>

namespace glint {

/// The fatbin of the PsfModel of that number; empty if glint was built without nvcc.
std::span<const unsigned char> fit_fatbin(int model);
/// That of joint fits.
std::span<const unsigned char> joint_fatbin(int model);

}  // namespace glint
