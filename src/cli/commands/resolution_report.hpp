// What `glint resolution` prints.
// SPDX-License-Identifier: MIT
#pragma once

#include "glint/localizations.hpp"
#include "glint/resolution.hpp"

namespace glint::cli {

void print_resolution(const Localizations& table, const Resolution& result);

}  // namespace glint::cli
