// Root mean square minimum distances between two sets of points (RMSMD; theory.md, section 8).
// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstddef>
#include <limits>
#include <span>

#include "analysis/points.hpp"

namespace glint {

/// The root mean square of distances, accumulated over frames.
class MinimumDistances {
  public:
    /// Adds the distance from each finite point to the nearest point in the tree.
    void add(std::span<const Point> points, const Nearest& to) {
        for (const Point& p : points)
            if (const double squared = to.squared(p); std::isfinite(squared)) squares_ += squared, ++count_;
    }
    /// Returns NaN without a distance.
    double root_mean_square() const { return root(squares_, count_); }
    static double of_both(const MinimumDistances& a, const MinimumDistances& b) {
        return root(a.squares_ + b.squares_, a.count_ + b.count_);
    }

  private:
    static double root(double squares, std::size_t count) {
        return count ? std::sqrt(squares / double(count)) : std::numeric_limits<double>::quiet_NaN();
    }
    double squares_ = 0;
    std::size_t count_ = 0;
};

}  // namespace glint
