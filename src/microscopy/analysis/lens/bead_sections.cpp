// The model of each slice, with the background that fits it best.
// SPDX-License-Identifier: MIT
#include "analysis/lens/bead_sections.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "analysis/lens/bead_model.hpp"

namespace glint::lens {
namespace {

constexpr double min_mean = 0.01;  // photoelectrons a pixel

/// Data, model and residual of a slice, by pixel.
struct SliceImages {
    std::vector<float> images[3];
};

SliceImages compare_slice(const BeadWindow& window, const float* data, const float* h, double photons,
                          double background) {
    const auto variance = [&](std::size_t p, double b) {
        return window.shot_noise[p] * std::max(photons * h[p] + b, min_mean) + window.read_variance[p];
    };
    double sum = 0, weights = 0;
    for (std::size_t p = 0; p < window.pixels(); ++p) {
        const double weight = 1 / variance(p, background);
        sum += weight * (data[p] - photons * h[p]), weights += weight;
    }
    const double fitted = sum / weights;
    SliceImages out;
    for (std::size_t p = 0; p < window.pixels(); ++p) {
        const double model = photons * h[p] + fitted;
        out.images[0].push_back(data[p]), out.images[1].push_back(float(model));
        out.images[2].push_back(float((data[p] - model) / std::sqrt(variance(p, fitted))));
    }
    return out;
}

}  // namespace

PsfBeadSections cut_sections(const BeadWindow& window, const BeadPlace& place, const std::vector<double>& background,
                             const Spline& spline, double z_nm) {
    const BeadModel model(spline.grid, window.z_nm, window.size, place);
    const std::vector<float> h = model.images(spline.coefficients);
    const auto edge = std::size_t(window.size);
    const auto middle = [&](double offset_px) {
        return std::size_t(std::clamp(window.size / 2 + int(std::lround(offset_px)), 0, window.size - 1));
    };
    const std::size_t column = middle(place.x_px), row = middle(place.y_px);
    PsfBeadSections out;
    out.size = window.size;
    std::vector<float> xz[3], yz[3];
    for (std::size_t k = 0; k < window.slices(); ++k) {
        if (!model.contains(k)) continue;
        const SliceImages slice =
            compare_slice(window, window.slice(k), h.data() + k * window.pixels(), place.photons, background[k]);
        const double z = window.z_nm[k] + place.z_nm;
        if (out.z_nm.empty() || std::abs(z - z_nm) < std::abs(out.xy_z_nm - z_nm)) {
            out.xy_z_nm = z, out.xy.clear();
            for (const auto& image : slice.images) out.xy.insert(out.xy.end(), image.begin(), image.end());
        }
        out.z_nm.push_back(z);
        for (std::size_t kind = 0; kind < 3; ++kind)
            for (std::size_t i = 0; i < edge; ++i) {
                xz[kind].push_back(slice.images[kind][row * edge + i]);
                yz[kind].push_back(slice.images[kind][i * edge + column]);
            }
    }
    for (std::size_t kind = 0; kind < 3; ++kind) {
        out.xz.insert(out.xz.end(), xz[kind].begin(), xz[kind].end());
        out.yz.insert(out.yz.end(), yz[kind].begin(), yz[kind].end());
    }
    return out;
}

}  // namespace glint::lens
