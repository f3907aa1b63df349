// The fit kernels' machine code (fatbins), embedded by cmake/cuda.cmake.
// SPDX-License-Identifier: MIT
#pragma once

#include <span>

namespace glint {

/// Returns the fatbin of the PsfModel with that number; empty if glint was built without nvcc.
std::span<const unsigned char> fit_fatbin(int model);
/// Returns the fatbin of joint fits.
std::span<const unsigned char> joint_fatbin(int model);

}  // namespace glint
