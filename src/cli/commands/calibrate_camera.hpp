// `glint calibrate camera`, a subcommand of `glint calibrate`.
// SPDX-License-Identifier: MIT
#pragma once

#include "cli/command.hpp"

namespace glint::cli {

Command add_calibrate_camera(CLI::App& group);

}  // namespace glint::cli
