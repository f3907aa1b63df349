// Whether two tables have pixels of one size.
// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>

namespace glint {

/// True also where one of them says none (0).
inline bool are_same_pixels(double nm, double other_nm) {
    constexpr double tolerance = 1e-5;  // formats round it, each in its way
    return !(nm > 0 && other_nm > 0) || std::abs(other_nm - nm) <= tolerance * nm;
}

}  // namespace glint
