// Two groups at a time: one is the real, one the imaginary part of a complex transform (KISS FFT).
// SPDX-License-Identifier: MIT
#include "analysis/fourier.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <kissfft/kissfft.hh>
#include <numbers>
#include <tuple>

namespace glint {
namespace {

using Complex = std::complex<float>;
constexpr double soft_edge = 0.125;  // share of the tile's edge over which the window rises (Nieuwenhuizen et al.)
constexpr int columns_at_once = 8;   // a cache line of complex numbers

/// 0 at the tile's ends, 1 within, with half a cosine between (Tukey).
float window(float x, int edge) {
    const double of_edge = std::min(double(x), edge - double(x)) / (soft_edge * edge);
    if (of_edge <= 0) return 0;
    return of_edge >= 1 ? 1.0f : float(0.5 - 0.5 * std::cos(std::numbers::pi * of_edge));
}

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

/// What the spline's transform takes from the power at frequency k of `edge`: sinc^8.
double power_of_spline(int k, int edge) {
    const double x = std::numbers::pi * std::abs(k) / edge, sinc = x > 0 ? std::sin(x) / x : 1;
    return std::pow(sinc, 8);
}

/// Spreads the points of group a into real and those of b into imaginary parts, and transforms the columns that rings need.
class PairTransform {
  public:
    PairTransform(const FourierGrid& grid, std::span<const TilePoint> points, int a)
        : edge_(grid.edge), values_(std::size_t(edge_) * edge_), filled_(std::size_t(edge_), false) {
        for (const TilePoint& point : points)
            if (point.group == a || point.group == a + 1)
                spread(point, point.group == a ? Complex(1, 0) : Complex(0, 1));
        transform_rows();
        for (int column = 0; column < grid.rings(); column += columns_at_once) transform_columns(column, grid.rings());
        for (int column = edge_ - grid.rings() + 1; column < edge_; column += columns_at_once)
            transform_columns(column, edge_);
    }
    /// F of both groups at (kx, ky).
    std::pair<Complex, Complex> at(int kx, int ky) const {
        const Complex here = value(kx, ky), there = std::conj(value(-kx, -ky));
        const Complex difference = here - there;
        return {0.5f * (here + there), 0.5f * Complex(difference.imag(), -difference.real())};
    }

  private:
    Complex value(int kx, int ky) const {
        return values_[std::size_t(ky < 0 ? ky + edge_ : ky) * edge_ + std::size_t(kx < 0 ? kx + edge_ : kx)];
    }
    void spread(const TilePoint& point, Complex unit) {
        const float weight = window(point.x, edge_) * window(point.y, edge_);
        if (!(weight > 0)) return;
        const Spline across(point.x), down(point.y);
        for (int j = 0; j < 4; ++j) {
            const int y = (down.first + j + edge_) % edge_;
            filled_[std::size_t(y)] = true;
            for (int i = 0; i < 4; ++i) {
                const int x = (across.first + i + edge_) % edge_;
                values_[std::size_t(y) * edge_ + x] += unit * (weight * down.weight[j] * across.weight[i]);
            }
        }
    }
    void transform_rows() {
        const kissfft<float> fft(std::size_t(edge_), false);
        std::vector<Complex> row(static_cast<std::size_t>(edge_));
        for (int y = 0; y < edge_; ++y) {
            if (!filled_[std::size_t(y)]) continue;
            Complex* begin = values_.data() + std::size_t(y) * edge_;
            fft.transform(begin, row.data());
            std::copy(row.begin(), row.end(), begin);
        }
    }
    void transform_columns(int first, int end) {
        const kissfft<float>& fft = column_fft();
        const int count = std::min(columns_at_once, end - first);
        std::vector<Complex>&in = in_, &out = out_;
        in.resize(std::size_t(columns_at_once) * edge_), out.resize(static_cast<std::size_t>(edge_));
        for (int y = 0; y < edge_; ++y)
            for (int c = 0; c < count; ++c)
                in[std::size_t(c) * edge_ + y] = values_[std::size_t(y) * edge_ + first + c];
        for (int c = 0; c < count; ++c) {
            fft.transform(in.data() + std::size_t(c) * edge_, out.data());
            std::copy(out.begin(), out.end(), in.begin() + std::ptrdiff_t(c) * edge_);
        }
        for (int y = 0; y < edge_; ++y)
            for (int c = 0; c < count; ++c)
                values_[std::size_t(y) * edge_ + first + c] = in[std::size_t(c) * edge_ + y];
    }
    const kissfft<float>& column_fft() {
        if (fft_.empty()) fft_.emplace_back(std::size_t(edge_), false);
        return fft_.front();
    }

    int edge_;
    std::vector<Complex> values_, in_, out_;
    std::vector<bool> filled_;  ///< rows that have points
    std::vector<kissfft<float>> fft_;
};

/// Visits one half of the Fourier plane, whose other half is its conjugate: visit(kx, ky, ring).
template <class Visit>
void visit_rings(const FourierGrid& grid, Visit visit) {
    const int last = grid.rings() - 1;
    for (int ky = 0; ky <= last; ++ky)
        for (int kx = ky > 0 ? -last : 1; kx <= last; ++kx) {
            const int ring = int(std::lround(std::sqrt(double(kx) * kx + double(ky) * ky)));
            if (ring <= last) visit(kx, ky, ring);
        }
}

}  // namespace

RingSums ring_sums(const FourierGrid& grid, std::span<const TilePoint> points) {
    RingSums sums(std::size_t(grid.rings()), std::array<double, frc_products>{});
    std::vector<PairTransform> pairs;
    for (int a = 0; a < frc_groups; a += 2) pairs.emplace_back(grid, points, a);
    std::vector<double> power(static_cast<std::size_t>(grid.rings()));
    for (int k = 0; k < grid.rings(); ++k) power[std::size_t(k)] = power_of_spline(k, grid.edge);
    visit_rings(grid, [&](int kx, int ky, int ring) {
        std::array<Complex, frc_groups> f;
        for (int a = 0; a < frc_groups; a += 2)
            std::tie(f[std::size_t(a)], f[std::size_t(a) + 1]) = pairs[std::size_t(a) / 2].at(kx, ky);
        const double weight = 1 / (power[std::size_t(std::abs(kx))] * power[std::size_t(ky)]);
        auto& sum = sums[std::size_t(ring)];
        for (std::size_t b = 0, k = 0; b < frc_groups; ++b)
            for (std::size_t a = 0; a <= b; ++a, ++k)
                sum[k] += weight * double(f[a].real() * f[b].real() + f[a].imag() * f[b].imag());
    });
    return sums;
}

std::vector<double> ring_sizes(const FourierGrid& grid) {
    std::vector<double> sizes(std::size_t(grid.rings()), 0);
    visit_rings(grid, [&](int, int, int ring) { ++sizes[std::size_t(ring)]; });
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
