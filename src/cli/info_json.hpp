// The record of a fit as JSON, which --json prints and ranks of glint-mpi send.
// SPDX-License-Identifier: MIT
#pragma once

#include <nlohmann/json.hpp>

#include "fit/fit_info.hpp"

namespace glint::cli {

/// Returns the fields of one group, with the names of for_each_info_field().
nlohmann::ordered_json info_json(const FitInfo& info, InfoGroup group);

/// Returns both groups, for the results of localizing. The fields of GPUs are under "gpu". `seconds` becomes
/// "thread_seconds", since it is the sum over threads.
nlohmann::ordered_json fit_json(const FitInfo& info);
/// Reads the result of fit_json().
FitInfo fit_of(const nlohmann::ordered_json& json);

}  // namespace glint::cli
