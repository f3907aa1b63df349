// Random arrays on the CPU or a GPU: the same numbers on both, for any number of threads or parts.
//
//     std::vector<double> noise(1000);
//     const glint::arrays::View<double> view(noise.data(), {1000});
//     glint::arrays::random<double>(session, glint::arrays::Distribution::normal, 42, view);
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "glint/arrays/array.hpp"
#include "glint/offload/session.hpp"

namespace glint::arrays {

/// `uniform`: in [0, 1), the numbers of numpy.random.Generator(numpy.random.Philox(key=seed)).random(). `normal`: mean
/// 0 and variance 1; each pair is computed from two uniform numbers.
enum class Distribution { uniform, normal };

/// Fills `out` with elements [first, first + n) of the infinite sequence of a seed: the words of Philox-4x64-10 (Salmon
/// et al., SC 2011). float and double have different sequences. The bits do not depend on the backend, which the
/// session chooses as for glint/arrays/operations.hpp. T: float or double. Throws OptionError for a negative `first`.
template <class T>
void random(offload::Session& session, Distribution distribution, std::uint64_t seed, const Operand<T>& out,
            std::int64_t first = 0);

}  // namespace glint::arrays
