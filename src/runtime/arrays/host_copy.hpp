// Packs and unpacks parts of strided arrays, for transfers to and from a GPU.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "glint/arrays/array.hpp"

namespace glint::arrays {

/// Copy elements [first, first + n) in C order, with several threads. T: std::int64_t, float, double, and complex
/// numbers of these.
template <class T>
void gather(const View<const T>& from, std::int64_t first, std::int64_t n, T* to);
template <class T>
void scatter(const T* from, const View<T>& to, std::int64_t first, std::int64_t n);

}  // namespace glint::arrays
