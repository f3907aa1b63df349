// Random arrays on the CPU or a GPU: the same numbers on both, for any number of threads or parts.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "glint/arrays/array.hpp"
#include "glint/offload/session.hpp"

namespace glint::arrays {

/// uniform: in [0, 1), the numbers of numpy.random.Generator(numpy.random.Philox(key=seed)).random(). normal: mean 0
/// and variance 1; each pair is computed from two of the uniform numbers.
enum class Distribution { uniform, normal };

/// Fills `out` with elements [first, first + n) of the infinite sequence of a seed: the words of Philox-4x64-10 (Salmon
/// et al., SC 2011). float and double have one sequence each. The bits do not depend on the backend. Throws OptionError
/// for a negative `first`. T: float or double. Runs on the side that the session chooses, as in
/// glint/arrays/operations.hpp.
template <class T>
void random(offload::Session& session, Distribution distribution, std::uint64_t seed, const Operand<T>& out,
            std::int64_t first = 0);

}  // namespace glint::arrays
