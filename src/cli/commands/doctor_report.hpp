// What `glint doctor` and Python's glint.gpu.diagnose() check.
// SPDX-License-Identifier: MIT
#pragma once

#include "glint/gpu/diagnose.hpp"
#include "glint/progress.hpp"

namespace glint::cli {

struct DoctorOptions {
    bool test = false;               ///< also use each GPU briefly, and compare the backends
    bool calibrate = false;          ///< also measure the CPU, the GPU and the link between them
    const StopFlag* stop = nullptr;  ///< if set, a wait for a GPU ends with Cancelled
};

/// Returns the findings of gpu::diagnose() and of the checks of higher layers, in the order in which they are printed.
gpu::Diagnosis examine(const DoctorOptions& options);

}  // namespace glint::cli
