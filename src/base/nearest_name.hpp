// Which name a misspelt word was perhaps meant to be.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

namespace glint {

/// The name that `word` was perhaps meant to be: the one that it begins, or that a few letters make of it. Empty: none is
/// near.
std::string nearest_name(const std::string& word, const std::vector<std::string>& names);

}  // namespace glint
