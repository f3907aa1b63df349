// Not to overwrite what somebody may want to keep.
// SPDX-License-Identifier: MIT
#pragma once

#include <CLI/CLI.hpp>

#include "io/check_outputs.hpp"

namespace glint::cli {

void add_overwrite_flag(CLI::App& app, bool& overwrite);
inline IfExists if_exists(bool overwrite) { return overwrite ? IfExists::replace : IfExists::refuse; }

}  // namespace glint::cli
