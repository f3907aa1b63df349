// Slices of one bead have its errors in common, so that gains are compared bead by bead.
// SPDX-License-Identifier: MIT
#include "analysis/lens/choose_field.hpp"

#include <algorithm>
#include <cmath>

#include "analysis/lens/choose_grid.hpp"

namespace glint::lens {
namespace {

constexpr std::size_t max_field_fits = 800;
constexpr double gain_errors = 2;  // that a gain must exceed

struct FieldGain {
    double mean = 0, error = 0;
    bool is_significant() const { return mean > gain_errors * error; }
};

FieldGain compare_by_beads(const HeldOut& simple, const HeldOut& complex, std::size_t beads) {
    std::vector<double> sums(beads), counts(beads);
    for (std::size_t k = 0; k < simple.fits.size(); ++k) {
        const std::size_t bead = simple.fits[k].bead;
        sums[bead] += deviance_at_place(simple.fits[k]) - deviance_at_place(complex.fits[k]), counts[bead] += 1;
    }
    FieldGain gain;
    const double n = double(beads);
    for (std::size_t b = 0; b < beads; ++b) gain.mean += sums[b] / std::max(counts[b], 1.0) / n;
    double squares = 0;
    for (std::size_t b = 0; b < beads; ++b) squares += std::pow(sums[b] / std::max(counts[b], 1.0) - gain.mean, 2);
    gain.error = std::sqrt(squares / (n - 1) / n);
    return gain;
}

double find_good_p(const HeldOut& held_out) {
    double good = 0;
    for (const HeldOutFit& each : held_out.fits) good += !each.wrong && each.fit.p_value > 0.01;
    return held_out.fits.empty() ? 0 : good / double(held_out.fits.size());
}

}  // namespace

FieldTerms limit_terms(const BeadSet& beads, int degree) {
    FieldTerms terms = make_field_terms(beads.windows, degree);
    while (terms.degree > 0 && beads.size() < std::size_t(beads_per_term) * terms.count()) --terms.degree;
    return terms;
}

PsfFieldFit choose_field(const BeadSet& beads, LearnOptions& options) {
    std::size_t slices = 0;
    for (const BeadWindow& bead : beads.windows) slices += bead.slices();
    const std::size_t stride = std::max<std::size_t>(1, slices / max_field_fits);
    const auto judge = [&](const FieldTerms& terms) {
        LearnOptions tried = options;
        tried.field = terms;
        return fit_held_out(beads.windows, beads.places, tried, beads.windows.front().size, stride);
    };
    options.field = {};
    const HeldOut one = judge(options.field);
    PsfFieldFit found;
    found.good_p_of_one = found.good_p = find_good_p(one);
    HeldOut best = one;
    for (int degree = 1; degree <= FieldTerms::max_degree; ++degree) {
        const FieldTerms terms = limit_terms(beads, degree);
        if (terms.degree < degree) break;
        HeldOut fits = judge(terms);
        const FieldGain over_one = compare_by_beads(one, fits, beads.size());
        // Without a change that is found, the gain of the plane is reported.
        if (degree == 1) found.gain = over_one.mean, found.gain_error = over_one.error;
        if (!over_one.is_significant() || !compare_by_beads(best, fits, beads.size()).is_significant()) continue;
        found.degree = degree, found.gain = over_one.mean, found.gain_error = over_one.error;
        found.good_p = find_good_p(fits);
        options.field = terms, best = std::move(fits);
    }
    return found;
}

}  // namespace glint::lens
