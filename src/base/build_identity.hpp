// What tells builds of glint apart.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace glint {

/// 64 hexadecimal digits: a hash of the sources and of the compiler's settings, the same for all programs and libraries of
/// a build. Processes that exchange structs, and promise the same results, compare it.
std::string build_identity();

}  // namespace glint
