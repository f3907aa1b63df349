// The passes along x and y turn each plane of coefficients into an image; the pass along z combines four of these.
// SPDX-License-Identifier: MIT
#include "analysis/lens/bead_model.hpp"

#include <algorithm>
#include <cstddef>

namespace glint::lens {
namespace {

constexpr double z_tolerance = 1e-6;  // knots, for slices at the very end of the range

void add_four(const float* const (&from)[4], const float (&weights)[4], std::size_t count, float* to) {
    const float *a = from[0], *b = from[1], *c = from[2], *d = from[3];
    const float wa = weights[0], wb = weights[1], wc = weights[2], wd = weights[3];
    for (std::size_t i = 0; i < count; ++i) to[i] += (wa * a[i] + wb * b[i]) + (wc * c[i] + wd * d[i]);
}

void spread(const float* from, float weight, std::size_t count, float* to) {
    for (std::size_t i = 0; i < count; ++i) to[i] += weight * from[i];
}

}  // namespace

BeadModel::Taps BeadModel::to_taps(double u, int count, bool slope, double factor) {
    const CubicTaps cubic = cubic_taps(u, count);
    Taps taps{cubic.first, {}};
    for (int t = 0; t < 4; ++t) taps.weights[t] = float(factor * (slope ? cubic.slopes[t] : cubic.weights[t]));
    return taps;
}

BeadModel::BeadModel(const SplineGrid& grid, const std::vector<double>& z_nm, int window, const BeadPlace& place, Of of)
    : grid_(grid), window_(window) {
    const double s = grid.samples, half = 0.5 * (window - 1), limit = grid.max_offset_px();
    const auto first_pixel = [&](double offset) {
        return s * (-half - std::clamp(offset, -limit, limit)) + grid.middle();
    };
    const int starts = grid.nxy() - grid.samples * (window - 1);  // of which the last pixel is inside of the grid
    x_ = to_taps(first_pixel(place.x_px), starts, of == Of::x_slope, of == Of::x_slope ? -s : 1);
    y_ = to_taps(first_pixel(place.y_px), starts, of == Of::y_slope, of == Of::y_slope ? -s : 1);
    for (const double z : z_nm) {
        const double w = grid.w_at(z + place.z_nm), last = grid.nz - 2;
        const bool inside = w >= 1 - z_tolerance && w <= last + z_tolerance;
        Taps taps;
        if (inside) taps = to_taps(w, grid.nz, of == Of::z_slope, of == Of::z_slope ? 1 / grid.knot_nm() : 1);
        z_.push_back(taps), contained_.push_back(inside);
    }
}

std::vector<float> BeadModel::images(const std::vector<float>& coefficients) const {
    const std::size_t n = std::size_t(grid_.nxy()), w = std::size_t(window_), step = std::size_t(grid_.samples);
    std::vector<float> planes(std::size_t(grid_.nz) * w * w), rows(n * w);
    for (std::size_t k = 0; k < std::size_t(grid_.nz); ++k) {
        for (std::size_t j = 0; j < n; ++j) {
            const float* from = coefficients.data() + k * n * n + j * n + std::size_t(x_.first);
            for (std::size_t i = 0; i < w; ++i, from += step)
                rows[j * w + i] = (x_.weights[0] * from[0] + x_.weights[1] * from[1]) +
                                  (x_.weights[2] * from[2] + x_.weights[3] * from[3]);
        }
        for (std::size_t j = 0; j < w; ++j) {
            const float* from = rows.data() + (std::size_t(y_.first) + j * step) * w;
            add_four({from, from + w, from + 2 * w, from + 3 * w}, y_.weights, w, planes.data() + (k * w + j) * w);
        }
    }
    std::vector<float> out(z_.size() * w * w);
    for (std::size_t k = 0; k < z_.size(); ++k) {
        if (!contained_[k]) continue;
        const float* from = planes.data() + std::size_t(z_[k].first) * w * w;
        add_four({from, from + w * w, from + 2 * w * w, from + 3 * w * w}, z_[k].weights, w * w,
                 out.data() + k * w * w);
    }
    return out;
}

void BeadModel::add_transposed(const std::vector<float>& images, std::vector<float>& coefficients) const {
    const std::size_t n = std::size_t(grid_.nxy()), w = std::size_t(window_), step = std::size_t(grid_.samples);
    std::vector<float> planes(std::size_t(grid_.nz) * w * w), rows(n * w);
    for (std::size_t k = 0; k < z_.size(); ++k)
        for (std::size_t t = 0; contained_[k] && t < 4; ++t)
            spread(images.data() + k * w * w, z_[k].weights[t], w * w,
                   planes.data() + (std::size_t(z_[k].first) + t) * w * w);
    for (std::size_t k = 0; k < std::size_t(grid_.nz); ++k) {
        std::fill(rows.begin(), rows.end(), 0.0f);
        for (std::size_t j = 0; j < w; ++j)
            for (std::size_t t = 0; t < 4; ++t)
                spread(planes.data() + (k * w + j) * w, y_.weights[t], w,
                       rows.data() + (std::size_t(y_.first) + j * step + t) * w);
        for (std::size_t j = 0; j < n; ++j) {
            float* to = coefficients.data() + k * n * n + j * n + std::size_t(x_.first);
            for (std::size_t t = 0; t < 4; ++t)
                for (std::size_t i = 0; i < w; ++i) to[i * step + t] += x_.weights[t] * rows[j * w + i];
        }
    }
}

}  // namespace glint::lens
