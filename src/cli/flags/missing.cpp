// Collects and words what is missing.
// SPDX-License-Identifier: MIT
#include "cli/flags/missing.hpp"

#include <fmt/format.h>

#include "glint/error.hpp"

namespace glint::cli {

void MissingOptions::add(const std::string& what, const std::string& flag, const std::string& meaning) {
    names_ += (names_.empty() ? "" : ", ") + what;
    if (!flag.empty()) flags_ += " " + flag;
    if (!meaning.empty()) meanings_ += fmt::format("\n  {:<13} {}", flag.substr(0, flag.find(' ')), meaning);
}

void MissingOptions::require(const std::string& about, const std::string& command, const std::string& advice) const {
    if (names_.empty()) return;
    throw OptionError(fmt::format(
        "{}: still needed: {}. For example, with what is true of your microscope:\n  {}{}{}\n  (a --camera file, "
        "or the movie's metadata, may say what is the camera's){}",
        about, names_, command, flags_, meanings_, advice));
}

}  // namespace glint::cli
