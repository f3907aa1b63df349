// The version of this library.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace glint {

/// "0.1.0": major, minor, patch. Results may differ, in the last digits, between versions.
std::string version();

}  // namespace glint
