// What `glint doctor` and Python's glint.gpu.diagnose() check.
// SPDX-License-Identifier: MIT
#pragma once

#include "glint/gpu/diagnose.hpp"
#include "glint/progress.hpp"

namespace glint::cli {

struct DoctorOptions {
    bool test = false;               ///< also use each GPU for a moment, and compare the backends
    bool calibrate = false;          ///< also measure CPU, GPU and the link between
    const StopFlag* stop = nullptr;  ///< when set, waits for a GPU end with Cancelled
};

/// gpu::diagnose(), with the checks of higher layers, in the order in which they are printed.
gpu::Diagnosis examine(const DoctorOptions& options);

}  // namespace glint::cli
