// What `glint doctor` says of operations on arrays: whether all backends compute the same, and how fast.
// SPDX-License-Identifier: MIT
#pragma once

#include "gpu/doctor/doctor.hpp"

namespace glint::cli {

/// Computes on every backend and compares.
gpu::doctor::Findings test_arrays();
/// Measures this machine and keeps that; one line an operation.
gpu::doctor::Findings calibrate_arrays();

}  // namespace glint::cli
