// What `glint doctor` and Python's glint.gpu.diagnose() look for, and the report as text.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "glint/progress.hpp"
#include "gpu/doctor/doctor.hpp"

namespace glint::cli {

struct DoctorOptions {
    bool test = false;               ///< also use each GPU for a moment, and compare the backends
    bool calibrate = false;          ///< also measure CPU, GPU and the link between
    const StopFlag* stop = nullptr;  ///< when set, waits for a GPU end with Cancelled
};

/// All checks, in the order in which they are printed.
gpu::doctor::Findings examine(const DoctorOptions& options);

const char* name_of(gpu::doctor::Health health);  ///< "ok", "warning", "problem"
gpu::doctor::Health worst(const gpu::doctor::Findings& findings);
int count(const gpu::doctor::Findings& findings, gpu::doctor::Health health);
/// "ok, 1 warning"; "2 problems, 1 warning"
std::string overall(const gpu::doctor::Findings& findings);
/// A line or two for each finding. GPUs without problems share one, unless `verbose`.
std::string report_text(const gpu::doctor::Findings& findings, bool verbose);

}  // namespace glint::cli
