// Measures operations on arrays on this machine, and checks that all backends compute the same.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "glint/offload/session.hpp"

namespace glint::arrays {

using offload::Session;

/// The times of an operation at one size.
struct CalibrationRow {
    std::string operation;
    double size = 0;  ///< in `unit`
    std::string unit;
    /// Seconds after a warm-up; 0: not measured. `resident`: operands and result are on the GPU.
    double cpu_s = 0, gpu_s = 0, gpu_resident_s = 0;
};

/// Runs each operation at a few sizes on the CPU and, if one can be used, on a GPU. Updates the cost model with the
/// times and saves it (glint/offload/session.hpp). Takes some seconds, including the loading of libraries.
///
/// Returns the times. Skips operands of more than `max_numbers` numbers. Does not throw for lack of a GPU;
/// `why_no_gpu`, if not null, receives the reason.
std::vector<CalibrationRow> calibrate(Session& session, std::string* why_no_gpu = nullptr,
                                      std::int64_t max_numbers = std::numeric_limits<std::int64_t>::max());

/// The result of one operation on one backend.
struct SelfTestRow {
    std::string operation, backend;  ///< "svd float32", "cuda"
    double error = 0, bound = 0;     ///< relative; the bound depends on the precision of the operation
    std::string why_not;             ///< why it could not run; empty if it ran
    /// Returns whether the operation ran with a sufficiently small error.
    bool ok() const { return why_not.empty() && error <= bound; }
};

/// Runs each operation on each backend, and compares the results with simple loops in double precision. Returns one row
/// per operation and backend.
std::vector<SelfTestRow> self_test(Session& session);

}  // namespace glint::arrays
