// What `glint resolution` prints.
// SPDX-License-Identifier: MIT
#pragma once

#include <nlohmann/json.hpp>

#include "glint/localizations.hpp"
#include "glint/resolution.hpp"

namespace glint::cli {

/// All figures, NaN as null; the maps are files of their own.
nlohmann::ordered_json resolution_json(const Localizations& table, const Resolution& result);
void print_resolution(const Localizations& table, const Resolution& result);

}  // namespace glint::cli
