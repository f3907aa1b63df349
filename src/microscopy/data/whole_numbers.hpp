// Columns of integers, which tables store as doubles.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>

namespace glint {

/// A double represents every smaller whole number exactly. This value also stands for its successor.
constexpr double largest_exact_integer = 9007199254740992.0;  // 2^53

/// Returns the value rounded and clamped to T; NaN becomes 0.
template <class T>
T whole(double value) {
    if (std::isnan(value)) return 0;
    const double most = double(std::numeric_limits<T>::max()), least = double(std::numeric_limits<T>::min());
    if (value >= most) return std::numeric_limits<T>::max();  // as a double, the maximum of 64 bits is rounded up
    return value <= least ? std::numeric_limits<T>::min() : T(std::round(value));
}

/// Returns true if no value is NaN or infinite, which integers cannot represent.
inline bool all_finite(std::span<const double> values) {
    return std::all_of(values.begin(), values.end(), [](double value) { return std::isfinite(value); });
}

/// Returns true if T can represent all values.
template <class T>
bool all_within(std::span<const double> values) {
    return std::all_of(values.begin(), values.end(), [](double value) {
        return value >= double(std::numeric_limits<T>::min()) && value <= double(std::numeric_limits<T>::max());
    });
}

}  // namespace glint
