// Computes Fourier sums over points of a square tile, and sums the cross-spectra between groups of points by ring.
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

/// Returns the index of the product of groups a and b, in either order.
constexpr int frc_product(int a, int b) { return a < b ? b * (b + 1) / 2 + a : a * (a + 1) / 2 + b; }

/// Real parts of sum_ring F_a conj(F_b), by ring.
using RingSums = std::vector<std::array<double, frc_products>>;

/// A point of a tile, in pixels of its grid from 0 to the tile's edge, and its group.
struct TilePoint {
    float x, y;
    std::uint8_t group;
};

/// The grid on which points are spread.
struct FourierGrid {
    int edge;                                   ///< pixels; even, a product of 2, 3 and 5
    int rings() const { return edge / 3 + 1; }  ///< ring k: frequency k / edge per pixel
};

/// Computes sums of exp(-2 pi i q x) over the points of each group, and adds their products by ring. A window weights
/// the points and falls to 0 at the tile's edge. Points are spread by cubic B-splines, and their transform is divided
/// out (theory.md, eq. 14.4). Uses about 25 bytes of memory per pixel, kept from tile to tile. Not thread-safe.
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
    std::vector<float> plane_;                ///< 0 between transforms
    std::vector<double> weight_;              ///< by frequency: 1 / the power that the spline leaves
    std::vector<std::uint16_t> ring_;         ///< by kx and ky, both at least 0
    std::vector<char> filled_;                ///< whether a block contains points
    std::array<std::vector<float>, frc_groups / 2> spectra_;
};

/// Returns the weight of a point at x along an axis (Tukey): 0 at the ends, 1 inside, half a cosine between.
float tile_window(float x, int edge);

/// Returns the ring of a frequency.
int ring_of(int kx, int ky);

/// Returns the number of Fourier pixels that RingTransform adds to each ring.
std::vector<double> ring_sizes(const FourierGrid& grid);

/// Returns the smallest even edge that has no prime factor above 5 and is at least `pixels`.
int good_edge(int pixels);

}  // namespace glint
