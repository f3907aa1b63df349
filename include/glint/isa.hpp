// The SIMD instruction set used by the fit, the detection and array operations.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

namespace glint {

/// The instruction set in use: the best that this CPU supports, or the one named by GLINT_ISA (sse2, avx2, avx512; neon
/// on Arm). Read once. Throws OptionError when GLINT_ISA names one that is unknown or not supported by this CPU.
std::string active_isa();

/// Returns all instruction sets that are compiled in and that this CPU supports, best first.
std::vector<std::string> available_isas();

}  // namespace glint
