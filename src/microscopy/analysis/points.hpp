// Points in nm: squared distances, nearest neighbours, and matching of two sets.
// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

namespace glint {

/// A point of a frame or of a whole movie, in nm. z is 0 if unknown.
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

/// Finds the nearest of n points in O(log n) on average. Building the tree takes O(n log n) (Friedman, Bentley and
/// Finkel, ACM TOMS 3, 209 (1977)). Each node knows the box of its points, so crowds at one place are skipped as a
/// whole. Ignores non-finite points. Thread-safe after construction.
class Nearest {
  public:
    static constexpr std::size_t nobody = std::size_t(-1);

    explicit Nearest(std::span<const Point> points);

    /// Returns the squared distance (nm^2) from `p` to the nearest point, except the point with index `except`.
    /// Infinity if there is none, or if `p` is not finite.
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

/// Returns the distinct finite points, sorted.
std::vector<Point> distinct(std::span<const Point> points);

/// Candidate pairs, as rows of a sparse matrix: candidate k of row r, with its cost, for k in
/// [row_begin[r], row_begin[r + 1]).
struct Candidates {
    std::vector<std::size_t> row_begin;
    std::vector<int> column;
    std::vector<double> cost;
};

/// Returns all pairs (row of `rows`, column of `columns`) within `radius_nm` in x and y, and within `axial_radius_nm`
/// in z if it is above 0. The cost is the lateral distance. Non-finite points have no pairs.
Candidates pairs_within(std::span<const Point> rows, std::span<const Point> columns, double radius_nm,
                        double axial_radius_nm);

/// Returns the column of each row, or -1. The number of pairs is maximal, and among such matchings the total cost is
/// minimal. Uses shortest augmenting paths on a sparse matrix (Jonker and Volgenant, Computing 38, 325 (1987)). Costs
/// must be finite and not negative.
std::vector<int> assign(const Candidates& candidates, std::size_t columns);

}  // namespace glint
