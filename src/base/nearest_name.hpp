// Which name a misspelt word was perhaps meant to be.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

namespace glint {

/// Returns the name that `word` was perhaps meant to be: one that it begins, or one within a few letters. Empty if
/// none is near.
std::string nearest_name(const std::string& word, const std::vector<std::string>& names);

}  // namespace glint
