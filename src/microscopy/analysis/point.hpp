// A position in nm, and squared distances.
// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>

namespace glint {

/// A point of a frame or of a whole movie, nm; z is 0 if unknown.
struct Point {
    double x_nm = 0, y_nm = 0, z_nm = 0;
    bool operator==(const Point&) const = default;
    auto operator<=>(const Point&) const = default;
};

inline bool is_finite(const Point& p) {
    return std::isfinite(p.x_nm) && std::isfinite(p.y_nm) && std::isfinite(p.z_nm);
}

inline double squared_distance(const Point& a, const Point& b) {
    const double x = a.x_nm - b.x_nm, y = a.y_nm - b.y_nm, z = a.z_nm - b.z_nm;
    return x * x + y * y + z * z;
}

}  // namespace glint
