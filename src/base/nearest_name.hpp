// Finds the name that a misspelt word was probably meant to be.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

namespace glint {

/// Returns the name that `word` was probably meant to be: a name that begins with it, or differs by a few letters.
/// Empty if there is none.
std::string nearest_name(const std::string& word, const std::vector<std::string>& names);

}  // namespace glint
