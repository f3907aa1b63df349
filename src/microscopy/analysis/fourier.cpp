// Transforms two groups at a time: one as the real part and one as the imaginary part.
// SPDX-License-Identifier: MIT
#include "analysis/fourier.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "analysis/fft_columns.hpp"

namespace glint {
namespace {

constexpr double soft_edge = 0.125;  // share of the tile's edge over which the window rises (Nieuwenhuizen et al.)

/// A cubic B-spline at the four grid points around x.
struct Spline {
    int first;
    std::array<float, 4> weight;

    explicit Spline(float x) {
        const float floor = std::floor(x), t = x - floor, u = 1 - t;
        first = int(floor) - 1;
        weight = {u * u * u / 6, (4 - 6 * t * t + 3 * t * t * t) / 6, (4 - 6 * u * u + 3 * u * u * u) / 6,
                  t * t * t / 6};
    }
};

/// Returns the power that the spline's transform leaves at frequency k of `edge`: sinc^8.
double power_of_spline(int k, int edge) {
    const double x = std::numbers::pi * std::abs(k) / edge, sinc = x > 0 ? std::sin(x) / x : 1;
    return std::pow(sinc, 8);
}

/// Returns the number of blocks for this many columns.
std::size_t column_blocks(std::size_t columns) { return (columns + fft_columns_at_once - 1) / fft_columns_at_once; }

}  // namespace

float tile_window(float x, int edge) {
    const double of_edge = std::min(double(x), edge - double(x)) / (soft_edge * edge);
    if (of_edge <= 0) return 0;
    return of_edge >= 1 ? 1.0f : float(0.5 - 0.5 * std::cos(std::numbers::pi * of_edge));
}

int ring_of(int kx, int ky) { return int(std::sqrt(double(kx) * kx + double(ky) * ky) + 0.5); }

RingTransform::RingTransform(const FourierGrid& grid)
    : grid_(grid),
      edge_(std::size_t(grid.edge)),
      kept_(2 * std::size_t(grid.rings()) - 1),
      plane_block_(edge_ * fft_block_row),
      half_block_(column_blocks(edge_) * fft_columns_at_once * fft_block_row),
      turns_(2 * edge_),
      work_(4 * edge_ * fft_columns_at_once),
      half_(column_blocks(kept_) * half_block_),
      plane_(column_blocks(edge_) * plane_block_),
      filled_(column_blocks(edge_)) {
    for (std::size_t k = 0; k < edge_; ++k) {
        const double angle = 2 * std::numbers::pi * double(k) / double(edge_);
        turns_[k] = float(std::cos(angle)), turns_[edge_ + k] = float(std::sin(angle));
    }
    for (int k = 0; k < grid.rings(); ++k) weight_.push_back(1 / power_of_spline(k, grid.edge));
    for (int kx = 0; kx < grid.rings(); ++kx)
        for (int ky = 0; ky < grid.rings(); ++ky) ring_.push_back(std::uint16_t(ring_of(kx, ky)));
    for (auto& spectrum : spectra_) spectrum.resize(column_blocks(kept_) * kept_ * fft_block_row);
}

/// Spreads the points of group a into the real parts and the points of group a + 1 into the imaginary parts.
void RingTransform::spread(std::span<const TilePoint> points, int a) {
    const int edge = grid_.edge;
    for (const TilePoint& point : points) {
        if (point.group != a && point.group != a + 1) continue;
        const float weight = tile_window(point.x, edge) * tile_window(point.y, edge);
        if (!(weight > 0)) continue;
        float* to = plane_.data() + (point.group == a ? 0 : fft_columns_at_once);
        const Spline across(point.x), down(point.y);
        std::array<std::size_t, 4> column;
        for (std::size_t i = 0; i < 4; ++i) {
            const auto x = std::size_t((across.first + int(i) + edge) % edge), block = x / fft_columns_at_once;
            column[i] = block * plane_block_ + x % fft_columns_at_once;
            filled_[block] = 1;
        }
        for (std::size_t j = 0; j < 4; ++j) {
            float* row = to + std::size_t((down.first + int(j) + edge) % edge) * fft_block_row;
            const float by = weight * down.weight[j];
            for (std::size_t i = 0; i < 4; ++i) row[column[i]] += by * across.weight[i];
        }
    }
}

/// Transforms along y into rows of frequencies (one row for each x), then along x. Clears the plane.
void RingTransform::transform(std::vector<float>& spectrum) {
    FftPlan plan{int(edge_), 0, {}, turns_.data(), turns_.data() + edge_};
    int rest = int(edge_);
    for (const int radix : {4, 2, 3, 5})
        for (; rest % radix == 0; rest /= radix) plan.radix[plan.stages++] = radix;
    // Of half_, from one block of the plane.
    constexpr std::size_t rows = std::size_t(fft_columns_at_once) * fft_block_row;
    for (std::size_t block = 0; block < filled_.size(); ++block) {
        float *from = plane_.data() + block * plane_block_, *to = half_.data() + block * rows;
        if (filled_[block]) {
            GLINT_PICK(fft_columns)(plan, from, {to, grid_.rings(), true, half_block_}, work_.data());
            std::fill_n(from, plane_block_, 0.0f);
            filled_[block] = 0;
        } else {
            for (std::size_t k = 0; k < column_blocks(kept_); ++k) std::fill_n(to + k * half_block_, rows, 0.0f);
        }
    }
    for (std::size_t block = 0; block < column_blocks(kept_); ++block) GLINT_PICK(fft_columns)
    (plan, half_.data() + block * half_block_, {spectrum.data() + block * kept_ * fft_block_row, grid_.rings()},
     work_.data());
}

RingSums RingTransform::sums(std::span<const TilePoint> points) {
    PairSpectra spectra{{}, grid_.rings()};
    for (std::size_t pair = 0; pair < spectra_.size(); ++pair) {
        spread(points, 2 * int(pair));
        transform(spectra_[pair]);
        spectra.values[pair] = spectra_[pair].data();
    }
    const auto rings = std::size_t(grid_.rings());
    std::vector<RingTable> tables(rings, RingTable{});
    for (std::size_t block = 0; block < column_blocks(kept_); ++block)
        GLINT_PICK(add_ring_products)(spectra, int(block), ring_.data(), weight_.data(), tables.data());
    RingSums sums(rings);
    for (std::size_t k = 0; k < rings; ++k)
        for (int b = 0; b < frc_groups; ++b)
            for (int a = 0; a <= b; ++a) sums[k][std::size_t(frc_product(a, b))] = tables[k].products[a][b];
    return sums;
}

std::vector<double> ring_sizes(const FourierGrid& grid) {
    std::vector<double> sizes(std::size_t(grid.rings()), 0);
    const int last = grid.rings() - 1;  // of one half of the plane; the other half is its conjugate
    for (int kx = 0; kx <= last; ++kx)
        for (int ky = kx > 0 ? -last : 1; ky <= last; ++ky)
            if (const int ring = ring_of(kx, ky); ring <= last) ++sizes[std::size_t(ring)];
    return sizes;
}

int good_edge(int pixels) {
    for (int edge = std::max(pixels + pixels % 2, 2);; edge += 2) {
        int rest = edge;
        for (int factor : {2, 3, 5})
            while (rest % factor == 0) rest /= factor;
        if (rest == 1) return edge;
    }
}

}  // namespace glint
