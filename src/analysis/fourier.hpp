// Fourier sums over points of a square tile, rings of cross-spectra between groups of them.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace glint {

inline constexpr int frc_groups = 6;
inline constexpr int frc_products = frc_groups * (frc_groups + 1) / 2;

/// Index of the product of groups a and b, in either order.
constexpr int frc_product(int a, int b) { return a < b ? b * (b + 1) / 2 + a : a * (a + 1) / 2 + b; }

/// Real parts of sum_ring F_a conj(F_b), by ring.
using RingSums = std::vector<std::array<double, frc_products>>;

/// A point of a tile, in pixels of its grid, 0 to the tile's edge, and its group.
struct TilePoint {
    float x, y;
    std::uint8_t group;
};

/// The grid on which points are spread.
struct FourierGrid {
    int edge;                                   ///< pixels; even, a product of 2, 3 and 5
    int rings() const { return edge / 3 + 1; }  ///< ring k: frequency k / edge per pixel
};

/// Sum of exp(-2 pi i q x) over the points of each group, weighted by a window that falls to 0 at the tile's edge, and their
/// products added up by rings. Points are spread by cubic B-splines, whose transform is divided out (docs/theory.md, eq. 14.4).
/// Memory: 8 bytes a pixel and as much again for a few columns.
RingSums ring_sums(const FourierGrid& grid, std::span<const TilePoint> points);

/// Fourier pixels of each ring that ring_sums adds.
std::vector<double> ring_sizes(const FourierGrid& grid);

/// The smallest edge that is even, has no prime factor beyond 5, and is at least `pixels`.
int good_edge(int pixels);

}  // namespace glint
