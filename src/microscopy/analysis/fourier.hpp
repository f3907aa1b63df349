// Fourier sums over points of a square tile, rings of cross-spectra between groups of them.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "analysis/ring_products.hpp"

namespace glint {

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

/// Sums of exp(-2 pi i q x) over the points of each group, weighted by a window that falls to 0 at the tile's edge, and their
/// products added up by rings. Points are spread by cubic B-splines, whose transform is divided out (theory.md, eq. 14.4).
/// Memory, kept from tile to tile: about 25 bytes a pixel. For one thread at a time.
class RingTransform {
  public:
    explicit RingTransform(const FourierGrid& grid);
    RingSums sums(std::span<const TilePoint> points);

  private:
    void spread(std::span<const TilePoint> points, int a);
    void transform(std::vector<float>& spectrum);

    FourierGrid grid_;
    std::size_t edge_, kept_;                 ///< kept: frequencies that rings need, along an axis
    std::size_t plane_block_, half_block_;    ///< numbers in a block of columns
    std::vector<float> turns_, work_, half_;  ///< half: transformed along y
    std::vector<float> plane_;                ///< 0 from one transform to the next
    std::vector<double> weight_;              ///< by frequency: 1 / what the spline leaves of the power
    std::vector<std::uint16_t> ring_;         ///< by kx and ky of 0 or more
    std::vector<char> filled_;                ///< blocks that have points
    std::array<std::vector<float>, frc_groups / 2> spectra_;
};

/// The weight of a point at x along an axis: 0 at the tile's ends, 1 within, with half a cosine between (Tukey).
float tile_window(float x, int edge);

/// The ring of a frequency.
int ring_of(int kx, int ky);

/// Fourier pixels of each ring that RingTransform adds.
std::vector<double> ring_sizes(const FourierGrid& grid);

/// The smallest edge that is even, has no prime factor beyond 5, and is at least `pixels`.
int good_edge(int pixels);

}  // namespace glint
