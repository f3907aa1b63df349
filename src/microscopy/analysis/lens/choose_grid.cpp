// Compares other grids with the default one, slice by slice.
// SPDX-License-Identifier: MIT
#include "analysis/lens/choose_grid.hpp"

#include <algorithm>
#include <cmath>

#include "analysis/lens/held_out.hpp"

namespace glint::lens {
namespace {

constexpr double default_knot_nm = 50;
constexpr double other_knots[] = {0.7, 1.5};  // in units of the default
constexpr double min_knots_in_steps = 1.2;    // else slices do not determine the coefficients
constexpr double min_intervals = 4;
constexpr std::size_t max_fits = 300;
constexpr double max_added = 100;  // so that a few wrong fits do not decide
constexpr int short_rounds = 4;    // the positions are known already

/// The mean of the differences of deviance, and its standard error.
struct Gain {
    double mean = 0, error = 0;
};

Gain compare(const HeldOut& coarse, const HeldOut& fine) {
    std::vector<double> differences;
    for (std::size_t k = 0; k < coarse.fits.size(); ++k)
        differences.push_back(deviance_at_place(coarse.fits[k]) - deviance_at_place(fine.fits[k]));
    Gain gain;
    for (const double d : differences) gain.mean += d / double(differences.size());
    for (const double d : differences) gain.error += std::pow(d - gain.mean, 2);
    gain.error = std::sqrt(gain.error) / double(std::max<std::size_t>(differences.size(), 1));
    return gain;
}

bool is_better(const HeldOut& coarse, const HeldOut& fine) {
    const Gain gain = compare(coarse, fine);
    return gain.mean > 2 * gain.error;
}

double min_knot_nm(double step_nm) { return min_knots_in_steps * step_nm; }

double start_knot_nm(const SliceRange& range, double step_nm) {
    const double coarsest = (range.max_nm - range.min_nm) / min_intervals;
    return std::max(std::min(default_knot_nm, coarsest), min_knot_nm(step_nm));
}

}  // namespace

double deviance_at_place(const HeldOutFit& held_out) {
    const auto added = [](double error, double crlb) { return crlb > 0 ? std::pow(error / crlb, 2) : max_added; };
    const SliceFit& fit = held_out.fit;
    return fit.deviance + std::min(max_added, added(held_out.x_error_px, fit.crlb[fit_x]) +
                                                  added(held_out.y_error_px, fit.crlb[fit_y]) +
                                                  added(held_out.z_error_nm, fit.crlb[fit_z]));
}

LearnOptions choose_grid(const std::vector<BeadWindow>& beads, const std::vector<BeadPlace>& start,
                         const LearnOptions& options, double z_step_nm) {
    std::size_t slices = 0;
    for (const BeadWindow& bead : beads) slices += bead.slices();
    const std::size_t stride = std::max<std::size_t>(1, slices / max_fits);
    const double step_nm = std::abs(z_step_nm) * (beads.size() == 1 ? 2 : 1);
    LearnOptions best = options;
    best.rounds = short_rounds;
    const auto judge = [&](const LearnOptions& tried) {
        return fit_held_out(beads, start, tried, beads.front().size, stride);
    };
    const SliceRange range = find_slice_range(beads);
    const double start_knot = start_knot_nm(range, step_nm);
    best.knot_nm = start_knot;
    HeldOut best_fits = judge(best);
    const auto try_grid = [&](double knot_nm, int samples) {
        LearnOptions tried = best;
        tried.knot_nm = knot_nm, tried.samples = samples;
        HeldOut fits = judge(tried);
        if (is_better(best_fits, fits)) best = tried, best_fits = std::move(fits);
    };
    for (const double times : other_knots) {
        const double knot = times * start_knot;
        if (knot >= min_knot_nm(step_nm) && min_intervals * knot <= range.max_nm - range.min_nm) try_grid(knot, 1);
    }
    try_grid(best.knot_nm, 2);
    best.rounds = options.rounds;
    return best;
}

}  // namespace glint::lens
