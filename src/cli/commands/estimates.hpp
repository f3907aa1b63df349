// Values that `glint localize` takes from the movie itself: --offset auto, --gain auto, --sigma auto.
// SPDX-License-Identifier: MIT
#pragma once

#include "cli/commands/localize.hpp"

namespace glint::cli {

/// Lets --offset, --gain and --sigma take the word.
void allow_auto(CLI::App& app);

/// The flags with numbers in place of the word, and LocalizeOptions::estimated that says so. Without the word nothing is read.
/// Throws OptionError where the movie does not tell a value that is wanted.
LocalizeFlags with_estimates(const LocalizeFlags& flags, Movie& movie, Console& console);

}  // namespace glint::cli
