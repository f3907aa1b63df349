// All sums over pixels are in a matrix of the beads' products, so that an exchange of places costs little.
// SPDX-License-Identifier: MIT
#include "analysis/lens/field_change.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "analysis/lens/bead_model.hpp"
#include "glint/calibrate_psf.hpp"

namespace glint::lens {
namespace {

constexpr std::size_t parts_of_z = 3, min_field_beads = 7;
constexpr int exchanges = 199;
constexpr double max_chance = 1.0 / (exchanges + 1), min_field_share = 0.02;
constexpr double min_spread = 0.1;  // of the wider axis: else beads lie on a line

using Residual = std::vector<double>;  // parts x pixels, in units of h

/// The mean residual of a bead in each part of z, divided by its photons, and the mean square of h.
Residual average_residual(const BeadWindow& window, const BeadPlace& place, const std::vector<double>& background,
                          const Spline& spline, double& square_of_h) {
    const std::size_t pixels = window.pixels();
    const std::vector<float> h = BeadModel(spline.grid, window.z_nm, window.size, place).images(spline.coefficients);
    const double depth = spline.grid.z_max_nm - spline.grid.z_min_nm;
    Residual sums(parts_of_z * pixels), weights(parts_of_z * pixels);
    double squares = 0;
    for (std::size_t k = 0; k < window.slices(); ++k) {
        const double z = (window.z_nm[k] + place.z_nm - spline.grid.z_min_nm) / depth;
        if (!(z >= 0 && z < 1)) continue;
        const std::size_t part = std::size_t(z * double(parts_of_z));
        for (std::size_t p = 0; p < pixels; ++p) {
            const double value = double(h[k * pixels + p]), mean = place.photons * value + background[k];
            const double weight =
                1 / (double(window.shot_noise[p]) * std::max(mean, 0.01) + double(window.read_variance[p]));
            sums[part * pixels + p] += weight * (double(window.slice(k)[p]) - mean);
            weights[part * pixels + p] += weight * place.photons;
            squares += value * value;
        }
    }
    for (std::size_t q = 0; q < sums.size(); ++q) sums[q] = weights[q] > 0 ? sums[q] / weights[q] : 0;
    square_of_h += double(parts_of_z) * squares / double(window.slices());
    return sums;
}

/// Two orthogonal unit vectors that span the beads' centred places; empty if these lie on a line.
std::vector<std::vector<double>> span_of_places(const BeadSet& beads, const LearntPsf& learnt) {
    std::vector<std::vector<double>> axes(2);
    for (std::size_t b = 0; b < beads.size(); ++b) {
        axes[0].push_back(beads.windows[b].left + learnt.places[b].x_px);
        axes[1].push_back(beads.windows[b].top + learnt.places[b].y_px);
    }
    const auto length = [](const std::vector<double>& v) {
        return std::sqrt(std::inner_product(v.begin(), v.end(), v.begin(), 0.0));
    };
    for (auto& axis : axes) {
        const double mean = std::accumulate(axis.begin(), axis.end(), 0.0) / double(axis.size());
        for (double& value : axis) value -= mean;
    }
    if (length(axes[0]) < length(axes[1])) std::swap(axes[0], axes[1]);
    const double wide = length(axes[0]);
    for (double& value : axes[0]) value /= wide;
    const double along = std::inner_product(axes[0].begin(), axes[0].end(), axes[1].begin(), 0.0);
    for (std::size_t b = 0; b < axes[1].size(); ++b) axes[1][b] -= along * axes[0][b];
    const double narrow = length(axes[1]);
    if (!(wide > 0) || narrow < min_spread * wide) return {};
    for (double& value : axes[1]) value /= narrow;
    return axes;
}

/// What both axes explain of a matrix of products, if bead b lies at the place of bead order[b].
double explain(const std::vector<std::vector<double>>& axes, const std::vector<double>& products,
               const std::vector<std::size_t>& order) {
    const std::size_t n = order.size();
    double sum = 0;
    for (const auto& axis : axes)
        for (std::size_t a = 0; a < n; ++a)
            for (std::size_t b = 0; b < n; ++b) sum += axis[order[a]] * products[a * n + b] * axis[order[b]];
    return sum;
}

}  // namespace

FieldChange measure_field_change(const BeadSet& beads, const LearntPsf& learnt) {
    const std::size_t n = beads.size();
    if (n < min_field_beads) return {};
    const auto axes = span_of_places(beads, learnt);
    if (axes.empty()) return {};
    std::vector<Residual> residuals;
    double square_of_h = 0;
    for (std::size_t b = 0; b < n; ++b)
        residuals.push_back(average_residual(beads.windows[b], learnt.places[b], learnt.background[b],
                                             learnt.at(beads.windows[b]), square_of_h));
    // Products in units of the scatter of each pixel decide, and those in units of h give the size.
    std::vector<double> scaled(n * n), plain(n * n);
    for (std::size_t q = 0; q < residuals[0].size(); ++q) {
        double mean = 0, scatter = 0;
        for (const Residual& one : residuals) mean += one[q] / double(n);
        for (const Residual& one : residuals) scatter += std::pow(one[q] - mean, 2) / double(n - 1);
        if (!(scatter > 0)) continue;
        for (std::size_t a = 0; a < n; ++a)
            for (std::size_t b = 0; b < n; ++b) {
                const double product = residuals[a][q] * residuals[b][q];
                plain[a * n + b] += product, scaled[a * n + b] += product / scatter;
            }
    }
    std::vector<std::size_t> order(n);
    std::iota(order.begin(), order.end(), std::size_t(0));
    const double found = explain(axes, scaled, order), found_plain = explain(axes, plain, order);
    std::mt19937_64 random(1);
    int as_much = 1;
    double by_chance = 0;
    for (int k = 0; k < exchanges; ++k) {
        for (std::size_t i = n - 1; i > 0; --i) std::swap(order[i], order[random() % (i + 1)]);
        as_much += explain(axes, scaled, order) >= found;
        by_chance += explain(axes, plain, order) / exchanges;
    }
    FieldChange change;
    change.chance = double(as_much) / (exchanges + 1);
    change.share = square_of_h > 0 ? std::sqrt(std::max(0.0, found_plain - by_chance) / square_of_h) : 0;
    return change;
}

std::string doubt_field(const FieldChange& change, bool has_terms) {
    if (change.chance > max_chance || change.share < min_field_share) return {};
    if (has_terms)
        return fmt::format(
            "the PSF changes over the field by {:.0f} % of itself (rms over the beads) more than its cells describe: "
            "x, "
            "y and z of molecules depend on their place. Record more beads, or measure the PSF of a part of the field, "
            "`region`, and localize that part with it",
            100 * change.share);
    return fmt::format(
        "the PSF changes over the field, by {:.0f} % of itself (rms over the beads): one PSF is the mean of all, so "
        "that x, y and z of molecules depend on their place. Measure how it changes, `field`, with {} beads or more. "
        "Or "
        "measure the PSF of a part of the field, `region`, and localize that part with it",
        100 * change.share, CalibratePsfOptions::min_field_beads);
}

}  // namespace glint::lens
