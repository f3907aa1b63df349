// Two groups at a time: one is the real, one the imaginary part of a complex transform.
// SPDX-License-Identifier: MIT
#include "analysis/fourier.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "analysis/fft_columns.hpp"

namespace glint {
namespace {

constexpr double soft_edge = 0.125;  // share of the tile's edge over which the window rises (Nieuwenhuizen et al.)

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

/// Visits one half of the Fourier plane, whose other half is its conjugate: visit(kx, ky, ring).
template <class Visit>
void visit_rings(const FourierGrid& grid, Visit visit) {
    const int last = grid.rings() - 1;
    for (int kx = 0; kx <= last; ++kx)
        for (int ky = kx > 0 ? -last : 1; ky <= last; ++ky) {
            const int ring = int(std::sqrt(double(kx) * kx + double(ky) * ky) + 0.5);
            if (ring <= last) visit(kx, ky, ring);
        }
}

}  // namespace

RingTransform::RingTransform(const FourierGrid& grid)
    : grid_(grid),
      edge_(std::size_t(grid.edge)),
      stride_(padded(edge_)),
      kept_(2 * std::size_t(grid.rings()) - 1),
      kept_stride_(padded(kept_)),
      turns_(2 * edge_),
      work_(4 * edge_ * fft_columns_at_once),
      half_(2 * stride_ * kept_stride_) {
    for (std::size_t k = 0; k < edge_; ++k) {
        const double angle = 2 * std::numbers::pi * double(k) / double(edge_);
        turns_[k] = float(std::cos(angle)), turns_[edge_ + k] = float(std::sin(angle));
    }
    for (int k = 0; k < grid.rings(); ++k) power_.push_back(power_of_spline(k, grid.edge));
    for (auto& spectrum : spectra_) spectrum.resize(2 * kept_ * kept_stride_);
}

std::size_t RingTransform::padded(std::size_t n) {
    constexpr std::size_t at_once = fft_columns_at_once;
    return (n + at_once - 1) / at_once * at_once +
           at_once;  // not a power of 2: its columns would share few lines of a cache
}

/// Spreads the points of group a into real and those of a + 1 into imaginary parts.
void RingTransform::spread(std::span<const TilePoint> points, int a) {
    plane_.assign(2 * edge_ * stride_, 0);
    filled_.assign(stride_ / fft_columns_at_once, 0);
    const int edge = grid_.edge;
    for (const TilePoint& point : points) {
        if (point.group != a && point.group != a + 1) continue;
        const float weight = window(point.x, edge) * window(point.y, edge);
        if (!(weight > 0)) continue;
        float* to = plane_.data() + (point.group == a ? 0 : edge_ * stride_);
        const Spline across(point.x), down(point.y);
        for (std::size_t j = 0; j < 4; ++j) {
            float* row = to + std::size_t((down.first + int(j) + edge) % edge) * stride_;
            const float by = weight * down.weight[j];
            for (std::size_t i = 0; i < 4; ++i) {
                const auto x = std::size_t((across.first + int(i) + edge) % edge);
                row[x] += by * across.weight[i];
                filled_[x / fft_columns_at_once] = 1;
            }
        }
    }
}

/// Along y into rows of frequencies, one of x each, and along x.
void RingTransform::transform(std::vector<float>& spectrum) {
    FftPlan plan{int(edge_), 0, {}, turns_.data(), turns_.data() + edge_};
    int rest = int(edge_);
    for (const int radix : {4, 2, 3, 5})
        for (; rest % radix == 0; rest /= radix) plan.radix[plan.stages++] = radix;
    float *half_real = half_.data(), *half_imaginary = half_real + stride_ * kept_stride_;
    for (std::size_t x = 0; x < edge_; x += fft_columns_at_once) {
        const std::size_t at = x * kept_stride_;
        if (!filled_[x / fft_columns_at_once]) {
            for (float* part : {half_real, half_imaginary})
                std::fill_n(part + at, fft_columns_at_once * kept_stride_, 0.0f);
            continue;
        }
        const float* real = plane_.data() + x;
        GLINT_PICK(fft_columns)
        (plan, {real, real + edge_ * stride_, stride_},
         {half_real + at, half_imaginary + at, kept_stride_, grid_.rings(), true}, work_.data());
    }
    float *real = spectrum.data(), *imaginary = real + kept_ * kept_stride_;
    for (std::size_t y = 0; y < kept_; y += fft_columns_at_once) GLINT_PICK(fft_columns)
    (plan, {half_real + y, half_imaginary + y, kept_stride_},
     {real + y, imaginary + y, kept_stride_, grid_.rings(), false}, work_.data());
}

RingSums RingTransform::sums(std::span<const TilePoint> points) {
    RingSums sums(std::size_t(grid_.rings()), std::array<double, frc_products>{});
    for (std::size_t pair = 0; pair < spectra_.size(); ++pair) {
        spread(points, 2 * int(pair));
        transform(spectra_[pair]);
    }
    const auto place = [&](int kx, int ky) {
        return std::size_t(kx < 0 ? kx + int(kept_) : kx) * kept_stride_ + std::size_t(ky < 0 ? ky + int(kept_) : ky);
    };
    visit_rings(grid_, [&](int kx, int ky, int ring) {
        // Both groups of a pair from the transform at a frequency and at its opposite.
        std::array<float, frc_groups> re, im;
        const std::size_t here = place(kx, ky), there = place(-kx, -ky), imaginary = kept_ * kept_stride_;
        for (std::size_t pair = 0; pair < spectra_.size(); ++pair) {
            const float* f = spectra_[pair].data();
            const float r = f[here], i = f[here + imaginary], r2 = f[there], i2 = f[there + imaginary];
            re[2 * pair] = 0.5f * (r + r2), im[2 * pair] = 0.5f * (i - i2);
            re[2 * pair + 1] = 0.5f * (i + i2), im[2 * pair + 1] = 0.5f * (r2 - r);
        }
        const double weight = 1 / (power_[std::size_t(std::abs(kx))] * power_[std::size_t(std::abs(ky))]);
        auto& sum = sums[std::size_t(ring)];
        for (std::size_t b = 0, k = 0; b < frc_groups; ++b)
            for (std::size_t a = 0; a <= b; ++a, ++k) sum[k] += weight * double(re[a] * re[b] + im[a] * im[b]);
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
