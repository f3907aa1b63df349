// The record of a fit as JSON: what --json prints, and what ranks of glint-mpi send.
// SPDX-License-Identifier: MIT
#pragma once

#include <nlohmann/json.hpp>

#include "fit/fit_info.hpp"

namespace glint::cli {

/// The fields of one group, by the names of for_each_info_field.
nlohmann::ordered_json info_json(const FitInfo& info, InfoGroup group);

/// Both groups, as part of a summary of localizing: those of GPUs under "gpu", and `seconds` as "thread_seconds", since
/// it is the sum over threads.
nlohmann::ordered_json fit_json(const FitInfo& info);
/// The reverse of fit_json.
FitInfo fit_of(const nlohmann::ordered_json& json);

}  // namespace glint::cli
