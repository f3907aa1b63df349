// Measuring operations on arrays on this machine, and checking that all backends compute the same.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "glint/offload/session.hpp"

namespace glint::arrays {

using offload::Session;

struct CalibrationRow {
    std::string operation;
    double size = 0;  ///< in `unit`
    std::string unit;
    double cpu_s = 0, gpu_s = 0, gpu_resident_s = 0;  ///< warm; 0: not measured. Resident: operands and result there
};

/// Runs each operation at a few sizes on the CPU and, where a GPU can be had, there; what it takes is learned and kept
/// (glint/offload/session.hpp). Takes some seconds, the loading of libraries included. Never throws for lack of a GPU;
/// `why_no_gpu`, where given, says why. Operands of more numbers are left out.
std::vector<CalibrationRow> calibrate(Session& session, std::string* why_no_gpu = nullptr,
                                      std::int64_t most_numbers = std::numeric_limits<std::int64_t>::max());

struct SelfTestRow {
    std::string operation, backend;  ///< "svd float32", "cuda"
    double error = 0, bound = 0;     ///< relative, as the operation's precision allows
    std::string why_not;             ///< why it could not be done; empty: it was
    bool ok() const { return why_not.empty() && error <= bound; }
};

/// Each operation on each backend, compared with plain loops in double precision.
std::vector<SelfTestRow> self_test(Session& session);

}  // namespace glint::arrays
