// Processes that hold GPUs or wait for them, as a table and as JSON.
// SPDX-License-Identifier: MIT
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "glint/gpu/lease.hpp"

namespace glint::cli {

std::vector<std::string> lease_table(const gpu::LeaseSnapshot& seen);
nlohmann::ordered_json lease_json(const gpu::LeaseSnapshot& seen);

}  // namespace glint::cli
