// The version of this library.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace glint {

/// Returns the version: "0.1.0" (major, minor, patch). Results of different versions may differ in the last digits.
std::string version();

}  // namespace glint
