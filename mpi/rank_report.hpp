// What a rank did of a run, as JSON: what rank 0 is told of it, and prints.
// SPDX-License-Identifier: MIT
#pragma once

#include <exception>
#include <nlohmann/json.hpp>
#include <string>

#include "glint/fit.hpp"

namespace glint::mpi {

/// An error as it travels: its kind and its message, with the rank and host where it happened. Null: none.
nlohmann::ordered_json to_json(std::exception_ptr error, int rank, const std::string& host);
/// The exception that it was; null where it was none.
std::exception_ptr error_of(const nlohmann::ordered_json& json);

/// Of all ranks: sums, and the devices that took part.
FitInfo sum_of(const std::vector<FitInfo>& fits);

}  // namespace glint::mpi
