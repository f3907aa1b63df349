// Checks of array operations for `glint doctor`: whether all backends compute the same, and how fast.
// SPDX-License-Identifier: MIT
#pragma once

#include "glint/progress.hpp"
#include "gpu/doctor/doctor.hpp"

namespace glint::cli {

/// Computes on every backend and compares. Throws Cancelled where `stop` is set while it waits for a GPU.
gpu::doctor::Findings test_arrays(const StopFlag* stop);
/// Measures this machine and stores the results; one line per operation. Throws as test_arrays().
gpu::doctor::Findings calibrate_arrays(const StopFlag* stop);

}  // namespace glint::cli
