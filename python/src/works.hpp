// The work of operations for the cost model, without running them.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "glint/arrays/work.hpp"

namespace glint::python {

/// Returns the work of "matmul", "fft", "fft2", "rfft" (and their inverses), "svd", "svdvals", "solve", "eigh",
/// "eigvalsh", "qr", "map" and "reduce" (of `expression`).
offload::Work array_work(const std::string& name, const std::vector<std::vector<std::int64_t>>& extents,
                         bool double_precision, const arrays::Expression& expression, bool inputs_on_gpu,
                         bool result_on_gpu, double expected_reuse);

/// Returns a user-defined operation, which lives as long as the process.
const offload::Operation* own_operation(const std::string& name, const std::string& unit, double flops_power,
                                        double bytes_power, double rule_size);

}  // namespace glint::python
