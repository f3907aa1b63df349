// Checks of array operations for `glint doctor`: whether all backends compute the same, and how fast.
// SPDX-License-Identifier: MIT
#pragma once

#include "gpu/doctor/doctor.hpp"

namespace glint::cli {

/// Computes on every backend and compares.
gpu::doctor::Findings test_arrays();
/// Measures this machine and stores the results; one line per operation.
gpu::doctor::Findings calibrate_arrays();

}  // namespace glint::cli
