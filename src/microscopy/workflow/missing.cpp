// Collects missing values and writes the error message.
// SPDX-License-Identifier: MIT
#include "workflow/missing.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "glint/error.hpp"

namespace glint {

void MissingOptions::add(const std::string& what, const std::string& option, const std::string& meaning) {
    all_.push_back({what, option, meaning});
}

bool MissingOptions::has(const std::string& what) const {
    return std::any_of(all_.begin(), all_.end(), [&](const Missing& one) { return one.what == what; });
}

void MissingOptions::require(const std::string& about, const std::string& command, const std::string& advice) const {
    if (all_.empty()) return;
    std::string names, options, meanings;
    for (const Missing& one : all_) {
        names += (names.empty() ? "" : ", ") + one.what;
        if (!one.option.empty())
            options += (options.empty() && command.empty() ? "" : command.empty() ? ", " : " ") + one.option;
        if (!one.meaning.empty()) meanings += fmt::format("\n  {:<12} {}", one.what + ":", one.meaning);
    }
    throw OptionError(fmt::format(
        "{}: still needed: {}. For example, with what is true of your microscope:\n  {}{}{}\n  (a `camera` file, "
        "or the movie's metadata, may say what is the camera's){}",
        about, names, command, options, meanings, advice));
}

}  // namespace glint
