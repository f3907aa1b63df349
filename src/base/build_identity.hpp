// The identity of a build of glint.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace glint {

/// Returns 64 hexadecimal digits: a hash of the sources and of the compiler's settings. All programs and libraries
/// of a build share it. Processes that exchange structs and must give the same results compare this hash.
std::string build_identity();

}  // namespace glint
