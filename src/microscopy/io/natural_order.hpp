// The order in which people count files: img_2 before img_10.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace glint {

/// Runs of digits count as numbers of any length, all else byte by byte; names that differ in leading zeros alone keep a fixed
/// order.
bool natural_less(const std::string& a, const std::string& b);

}  // namespace glint
