// Nearest neighbours among points, by a k-d tree.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "analysis/point.hpp"

namespace glint {

/// Finds the nearest of n points in O(log n) on average, after O(n log n) for the tree (Friedman, Bentley and Finkel, ACM TOMS 3,
/// 209 (1977)). Each node knows the box of its points, so that crowds at one place are passed over as a whole.
/// Non-finite points are left out. Thread-safe once it is built.
class Nearest {
  public:
    static constexpr std::size_t nobody = std::size_t(-1);

    explicit Nearest(std::span<const Point> points);

    /// The squared distance from `p` to the nearest point but for that of index `except`, nm^2; infinity if there is
    /// none, or if `p` is not finite.
    double squared(const Point& p, std::size_t except = nobody) const;

  private:
    struct Entry {
        Point at;
        std::size_t index;
    };
    struct Node {
        Point low, high;
        std::size_t begin, end;  ///< entries
        std::size_t second = 0;  ///< the second child; the first follows its parent; 0: a leaf
        double squared(const Point& p) const;
    };

    void add_node(std::size_t begin, std::size_t end);
    void look(const Node& node, const Point& p, std::size_t except, double& best) const;

    std::vector<Entry> entries_;
    std::vector<Node> nodes_;
};

/// The distinct ones of the points, sorted, without non-finite ones.
std::vector<Point> distinct(std::span<const Point> points);

}  // namespace glint
