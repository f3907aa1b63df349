// Spells the options that messages name as the command line's flags.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

#include "base/option.hpp"

namespace glint::cli {

/// "--roi 7", "--where \"frame < 9\"".
std::string flag_of(Option option, std::string_view value);

/// "give `roi_size=7`" becomes "give --roi 7".
std::string in_flags(std::string_view message);

/// The same for `glint run`, which names keys of the recipe where it has no flag.
std::string in_words_of_run(const std::string& message);

}  // namespace glint::cli
