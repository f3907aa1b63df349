// The SIMD instruction set used by the fit, the detection and array operations.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

namespace glint {

/// Returns the instruction set in use: the best that this CPU supports, or the one named by GLINT_ISA (sse2, avx2,
/// avx512; neon on Arm). Reads the variable once. Throws OptionError if the named set is unknown or not supported by
/// this CPU.
std::string active_isa();

/// Returns all instruction sets that are compiled in and that this CPU supports, best first.
std::vector<std::string> available_isas();

}  // namespace glint
