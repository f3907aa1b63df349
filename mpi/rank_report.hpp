// A rank's report about a run, as JSON: its errors and statistics, which rank 0 prints.
// SPDX-License-Identifier: MIT
#pragma once

#include <exception>
#include <nlohmann/json.hpp>
#include <string>

#include "glint/fit.hpp"

namespace glint::mpi {

/// Returns an error's kind and message, with the rank and host where it happened. Null if there is no error.
nlohmann::ordered_json to_json(std::exception_ptr error, int rank, const std::string& host);
/// The inverse of to_json(): returns the exception; null if there was no error.
std::exception_ptr error_of(const nlohmann::ordered_json& json);

/// Adds up the statistics of all ranks, and lists the devices that took part.
FitInfo sum_of(const std::vector<FitInfo>& fits);

}  // namespace glint::mpi
