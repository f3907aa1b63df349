// Random arrays on the CPU or a GPU: the same numbers on both, for any number of threads and in any parts.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "glint/arrays/array.hpp"
#include "glint/offload/session.hpp"

namespace glint::arrays {

/// uniform: in [0, 1), the numbers of numpy.random.Generator(numpy.random.Philox(key=seed)).random(). normal: of mean 0 and
/// variance 1, each two made of two of these.
enum class Distribution { uniform, normal };

/// Fills `out` with elements [first, first + n) of the endless sequence of a seed, which is one for float and one for double: the
/// words of Philox-4x64-10 (Salmon et al., SC 2011). The bits do not depend on the backend. `first`: 0 or more, else throws
/// OptionError. T: float or double. On the session's chosen side, as the operations of glint/arrays/operations.hpp.
template <class T>
void random(offload::Session& session, Distribution distribution, std::uint64_t seed, const Operand<T>& out,
            std::int64_t first = 0);

}  // namespace glint::arrays
