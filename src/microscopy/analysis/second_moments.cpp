// Adaptive second moments, by fixed-point iteration of the weight.
// SPDX-License-Identifier: MIT
#include "analysis/beads.hpp"

#include <cmath>
#include <cstddef>

namespace glint {
namespace {

constexpr int max_iterations = 60;
constexpr double settled = 1e-3;  // relative change of the size

/// Returns the moments of the pixels with the weight exp(-d' M^-1 d / 2), or zeros without signal.
Moments weighted(std::span<const float> pixels, int size, double background, const Moments& m) {
    const double determinant = m.xx * m.yy - m.xy * m.xy;
    double sum = 0, x = 0, y = 0, xx = 0, yy = 0, xy = 0;
    for (int j = 0; j < size; ++j)
        for (int i = 0; i < size; ++i) {
            const double dx = i - m.x, dy = j - m.y;
            const double distance = (m.yy * dx * dx - 2 * m.xy * dx * dy + m.xx * dy * dy) / determinant;
            const double w = std::exp(-0.5 * distance) * (pixels[std::size_t(j) * size + i] - background);
            sum += w, x += w * dx, y += w * dy, xx += w * dx * dx, yy += w * dy * dy, xy += w * dx * dy;
        }
    if (!(sum > 0)) return {};
    return {m.x + x / sum, m.y + y / sum, xx / sum, yy / sum, xy / sum};
}

bool is_shape(const Moments& m, int size) {
    return m.xx > 0.01 && m.yy > 0.01 && m.xx * m.yy > 1.01 * m.xy * m.xy && m.xx + m.yy < 2.0 * size * size &&
           m.x > -0.5 && m.x < size - 0.5 && m.y > -0.5 && m.y < size - 0.5;
}

}  // namespace

std::optional<Moments> gaussian_moments(std::span<const float> pixels, int size, double background,
                                        const Moments& start) {
    Moments m = start;
    for (int k = 0; k < max_iterations && is_shape(m, size); ++k) {
        // The product of two equal Gaussians has half their covariance. The fixed point is therefore twice the weighted
        // moments.
        Moments next = weighted(pixels, size, background, m);
        next.xx *= 2, next.yy *= 2, next.xy *= 2;
        const double change = std::abs(next.xx - m.xx) + std::abs(next.yy - m.yy) + std::abs(next.xy - m.xy);
        m = next;
        if (change < settled * (m.xx + m.yy) && is_shape(m, size)) return m;
    }
    return std::nullopt;
}

}  // namespace glint
