// Uses a GPU for a moment, to check that it works.
// SPDX-License-Identifier: MIT
#pragma once

#include "glint/gpu/device.hpp"
#include "glint/progress.hpp"
#include "gpu/doctor/doctor.hpp"

namespace glint::cli {

/// Creates a context with 64 MiB, sends data there and back, and fits some spots, which must agree with the CPU's. Throws
/// Cancelled where `stop` is set while it waits for the GPU.
gpu::doctor::Finding try_gpu(const gpu::Device& device, const StopFlag* stop);

}  // namespace glint::cli
