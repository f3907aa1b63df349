// The statistics of a table's resolution, each with its error: resolution.json.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "glint/localizations.hpp"
#include "glint/resolution.hpp"

namespace glint {

/// Percentiles over the tiles that have a value: 10th, 50th, 90th.
struct PrecisionByPlace {
    std::size_t tiles = 0, all = 0;
    std::array<double, 3> nm{};
    double typical_error_nm = 0;
};
std::optional<PrecisionByPlace> precision_by_place(const Resolution& result);

/// Returns all statistics, with NaN as null; the maps are separate files. `words` completes the caveats.
nlohmann::ordered_json resolution_json(const Localizations& table, const Resolution& result,
                                       const std::function<std::string(const std::string&)>& words);

}  // namespace glint
