// Columns of integers, which tables keep as doubles.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>

namespace glint {

/// A double holds every whole number below this one, and this one for its successor, too.
constexpr double largest_exact_integer = 9007199254740992.0;  // 2^53

/// Rounded, and clamped to T; NaN is 0.
template <class T>
T whole(double value) {
    if (std::isnan(value)) return 0;
    const double most = double(std::numeric_limits<T>::max()), least = double(std::numeric_limits<T>::min());
    if (value >= most) return std::numeric_limits<T>::max();  // the maximum of 64 bits, as a double, is beyond them
    return value <= least ? std::numeric_limits<T>::min() : T(std::round(value));
}

/// Whether no value is NaN or infinite, which no integer says.
inline bool all_finite(std::span<const double> values) {
    return std::all_of(values.begin(), values.end(), [](double value) { return std::isfinite(value); });
}

/// Whether all values lie within T.
template <class T>
bool all_within(std::span<const double> values) {
    return std::all_of(values.begin(), values.end(), [](double value) {
        return value >= double(std::numeric_limits<T>::min()) && value <= double(std::numeric_limits<T>::max());
    });
}

}  // namespace glint
