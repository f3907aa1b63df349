// Diagnoses the GPUs of this machine and their sharing: what is wrong, with a remedy for each problem.
//
//     const glint::gpu::Diagnosis diagnosis = glint::gpu::diagnose();
//     std::puts(diagnosis.text().c_str());
//     if (!diagnosis.ok()) std::puts(glint::gpu::installation_guide().c_str());
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

namespace glint::gpu {

/// The severity of a finding.
enum class Health {
    ok,
    warning,  ///< works, but not optimally, or may fail soon
    problem,  ///< a GPU cannot be used or shared
};
/// Returns "ok", "warning" or "problem".
const char* to_name(Health health);

/// The result of one check.
struct Finding {
    Health health = Health::ok;
    std::string check;   ///< "driver", "ecc"
    std::string gpu;     ///< UUID; empty: the whole machine
    std::string found;   ///< one line
    std::string remedy;  ///< one line; empty if there is nothing to do
};

/// The result of diagnose(). Callers may add findings of their own.
struct Diagnosis {
    std::vector<Finding> findings;  ///< in the order of the checks

    Health health() const;                                   ///< the worst of all findings
    bool ok() const { return health() != Health::problem; }  ///< at most warnings
    int count(Health health) const;
    std::string overall() const;  ///< "ok, 1 warning"; "2 problems, 1 warning"
    /// Returns one or two lines per finding, and the line "overall: ...". GPUs without problems share one line, unless
    /// `verbose`.
    std::string text(bool verbose = false) const;
    /// Returns a JSON object with `health`, `overall`, `problems`, `warnings` (counts) and `findings`, indented by 2
    /// spaces.
    std::string to_json() const;
};

/// Returns the findings of checks of
/// - the driver, NVML, device files and their permissions,
/// - the modes and health of each GPU,
/// - dead or stopped processes that hold memory,
/// - the lease directory and abandoned leases, and
/// - environment variables.
///
/// Takes about 20 ms. Allocates nothing on any GPU. Does not throw for lack of a GPU or driver.
Diagnosis diagnose();

/// Returns which software is missing on this machine, and the commands that install it on its distribution.
/// `has_kernels`: false if this build has no kernels for GPUs (has_gpu_kernels() of glint/gpu_fit.hpp).
std::string installation_guide(bool has_kernels = true);

}  // namespace glint::gpu
