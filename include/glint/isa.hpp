// The SIMD instruction set that the fit and the detection run with.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

namespace glint {

/// The instruction set in use: the best this CPU has, or the one that GLINT_ISA in the environment names (sse2,
/// avx2, avx512; neon on Arm). Read once. Throws OptionError when GLINT_ISA names one that is unknown or that this
/// CPU does not have.
std::string active_isa();

/// All instruction sets compiled in that this CPU can run, best first.
std::vector<std::string> available_isas();

}  // namespace glint
