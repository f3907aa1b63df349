// Sets the histogram's scale from a first estimate, fits by maximum likelihood, and estimates errors by a jackknife
// over blocks of frames.
// SPDX-License-Identifier: MIT
#include "analysis/nena.hpp"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "analysis/poisson_fit.hpp"
#include "base/arena.hpp"

namespace glint {
namespace {

constexpr std::size_t fewest_pairs = 100, jackknife_blocks = 20;
constexpr double range = 10;  // of the histogram, in first estimates of the precision
constexpr int bins = 100;

// The width of the Gaussian is a share of its position, so it cannot describe distances near 0, which belong to one
// molecule.
enum Parameter { sigma, spread, one_molecule, gauss, gauss_place, gauss_share, linear, parameters };
using NenaValues = std::array<double, parameters>;

/// Returns a first estimate. For points around their molecule, the density in the plane falls to half at 2 sqrt(ln 2)
/// sigma.
double first_precision(std::span<const float> distances_nm) {
    std::vector<float> nearest(distances_nm.begin(), distances_nm.end());
    // The nearest tenth lies near the maximum of the density.
    std::sort(nearest.begin(), nearest.end());
    const std::size_t top = std::max<std::size_t>(nearest.size() / 10, 20);
    const double far_nm = nearest.back();
    const auto squared = [&](std::size_t k) { return std::max(double(nearest[k]) * nearest[k], 1e-12); };
    const double density = double(top) / squared(top);
    const std::size_t step = std::max<std::size_t>(nearest.size() / 40, 10);
    // Far from a molecule, only other molecules contribute. The ring of the largest distances measures their density.
    const std::size_t outer =
        std::size_t(std::lower_bound(nearest.begin(), nearest.end(), 0.7 * far_nm) - nearest.begin());
    const double strangers = double(nearest.size() - outer) / std::max(squared(nearest.size() - 1) * 0.51, 1e-12);
    for (std::size_t k = top; k + step < nearest.size(); k += step / 2) {
        const double here = double(step) / std::max(squared(k + step) - squared(k), 1e-12);
        if (here - strangers < 0.5 * (density - strangers))
            return std::sqrt(0.5 * (squared(k) + squared(k + step))) / (2 * std::sqrt(std::numbers::ln2));
    }
    return 0.25 * far_nm;
}

/// Expected counts of the bins (eq. 14.2). An infinite spread gives eq. 14.1.
struct Model {
    double bin_nm;
    bool one_precision;

    double within(double d, const NenaValues& p) const {
        const double t = d * d / (4 * p[sigma] * p[sigma]);
        return one_precision ? 1 - std::exp(-t) : 1 - std::pow(1 + t / p[spread], -p[spread]);
    }
    void operator()(std::span<const double> parameters, std::span<double> expected) const {
        NenaValues p;
        std::copy(parameters.begin(), parameters.end(), p.begin());
        const double end_nm = bin_nm * double(expected.size());
        double before = 0;
        for (std::size_t k = 0; k <= expected.size(); ++k) {
            const double d = bin_nm * double(k), of_end = d / end_nm;
            const double now =
                p[one_molecule] * within(d, p) + p[linear] * of_end * of_end +
                p[gauss] * 0.5 *
                    std::erfc((p[gauss_place] - d) / (p[gauss_share] * p[gauss_place] * std::numbers::sqrt2));
            if (k) expected[k - 1] = now - before;
            before = now;
        }
    }
};

struct Bounds {
    NenaValues low, high;
};

/// Histogram of distances, in total and for each block of frames.
struct Histogram {
    double bin_nm = 0;
    std::vector<double> counts = std::vector<double>(bins, 0);
    std::vector<std::vector<double>> blocks;

    Histogram(std::span<const float> distances_nm, double end_nm)
        : bin_nm(end_nm / bins), blocks(jackknife_blocks, std::vector<double>(bins, 0)) {
        for (std::size_t k = 0; k < distances_nm.size(); ++k) {
            const auto bin = std::size_t(double(distances_nm[k]) / bin_nm);
            if (bin >= std::size_t(bins)) continue;
            ++counts[bin];
            ++blocks[k * jackknife_blocks / distances_nm.size()][bin];
        }
    }
    double total() const {
        double sum = 0;
        for (double count : counts) sum += count;
        return sum;
    }
};

PoissonFit best_fit(const Histogram& histogram, const Model& model, const Bounds& bounds,
                    const std::vector<NenaValues>& starts) {
    PoissonFit best;
    for (const NenaValues& start : starts) {
        PoissonFit fit = poisson_fit(histogram.counts, model, {start.begin(), start.end()}, bounds.low, bounds.high);
        if (best.parameters.empty() || fit.deviance < best.deviance) best = std::move(fit);
    }
    return best;
}

/// Fits without each block of frames, for the standard errors of derived values.
class Jackknife {
  public:
    Jackknife(const Histogram& histogram, const Model& model, const Bounds& bounds, const PoissonFit& fit)
        : whole_(fit.parameters), without_(jackknife_blocks) {
        in_own_arena([&] {
            tbb::parallel_for(std::size_t{0}, jackknife_blocks, [&](std::size_t block) {
                std::vector<double> rest = histogram.counts;
                for (std::size_t k = 0; k < rest.size(); ++k) rest[k] -= histogram.blocks[block][k];
                without_[block] = poisson_fit(rest, model, whole_, bounds.low, bounds.high).parameters;
            });
        });
    }
    template <class Figure>
    Measured operator()(Figure figure) const {
        const double n = double(jackknife_blocks);
        double mean = 0, sum = 0;
        for (const auto& parameters : without_) mean += figure(parameters) / n;
        for (const auto& parameters : without_) sum += std::pow(figure(parameters) - mean, 2);
        return {figure(whole_), std::sqrt((n - 1) / n * sum)};
    }

  private:
    std::vector<double> whole_;
    std::vector<std::vector<double>> without_;
};

// The squared precision is distributed as spread sigma^2 / Gamma(spread, 1), with Wilson and Hilferty's median of
// Gamma.
double median_precision(const std::vector<double>& p) { return p[sigma] * std::pow(1 - 1 / (9 * p[spread]), -1.5); }
double rms_precision(const std::vector<double>& p) { return p[sigma] * std::sqrt(p[spread] / (p[spread] - 1)); }

Bounds bounds_of(double scale_nm, double end_nm, double pairs) {
    return {{0.1 * scale_nm, 1.5, 1e-6 * pairs, 1e-6 * pairs, 4 * scale_nm, 0.1, 1e-6 * pairs},
            {10 * scale_nm, 1e4, 2 * pairs, 2 * pairs, 2 * end_nm, 0.45, 2 * pairs}};
}

}  // namespace

std::vector<float> distances_nm(std::span<const FramePair> pairs, double pixel_size_nm) {
    std::vector<float> distances;
    distances.reserve(pairs.size());
    for (const FramePair& pair : pairs) distances.push_back(float(pair.distance_px * pixel_size_nm));
    return distances;
}

Nena fit_nena(std::span<const float> distances_nm) {
    Nena result;
    result.pairs = distances_nm.size();
    if (distances_nm.size() < fewest_pairs) return result;
    const double scale_nm = first_precision(distances_nm), end_nm = range * scale_nm;
    const Histogram histogram(distances_nm, end_nm);
    const double pairs = histogram.total();
    result.pairs = std::size_t(pairs);
    if (result.pairs < fewest_pairs) return result;
    const Bounds bounds = bounds_of(scale_nm, end_nm, pairs);
    std::vector<NenaValues> starts;
    for (double place : {4.5, 8.0})
        starts.push_back({scale_nm, 20, 0.9 * pairs, 0.05 * pairs, place * scale_nm, 0.3, 0.05 * pairs});

    const Model single{histogram.bin_nm, true}, many{histogram.bin_nm, false};
    Bounds without_spread = bounds;
    without_spread.low[spread] = without_spread.high[spread];
    const PoissonFit of_one = best_fit(histogram, single, without_spread, starts);
    const PoissonFit fit = best_fit(histogram, many, bounds, starts);
    const Jackknife without(histogram, many, bounds, fit);
    result.single = Jackknife(histogram, single, without_spread, of_one)([](const auto& p) { return p[sigma]; });
    result.precision = without(median_precision), result.rms = without(rms_precision);
    result.shape = {fit.parameters[spread], fit.parameters[gauss_place], fit.parameters[gauss_share], end_nm};
    result.fit.resize(bins), result.counts = histogram.counts;
    many(fit.parameters, result.fit);
    for (int k = 0; k < bins; ++k) result.distance_nm.push_back((k + 0.5) * histogram.bin_nm);
    double expected = 0;
    for (double m : result.fit) expected += m;
    NenaValues p;
    std::copy(fit.parameters.begin(), fit.parameters.end(), p.begin());
    result.same_molecule = p[one_molecule] * many.within(end_nm, p) / expected;
    return result;
}

Nena fit_nena_of_part(std::span<const float> distances_nm, const NenaShape& whole) {
    Nena result;
    if (distances_nm.size() < fewest_pairs || !(whole.end_nm > 0)) return result;
    const Histogram histogram(distances_nm, whole.end_nm);
    const double pairs = histogram.total(), scale_nm = whole.end_nm / range;
    result.pairs = std::size_t(pairs);
    if (result.pairs < fewest_pairs) return result;
    Bounds bounds = bounds_of(scale_nm, whole.end_nm, pairs);
    bounds.low[gauss_place] = bounds.high[gauss_place] = whole.gauss_place_nm;
    bounds.low[gauss_share] = bounds.high[gauss_share] = whole.gauss_share;
    const Model many{histogram.bin_nm, false};
    const NenaValues start{scale_nm, 20, 0.9 * pairs, 0.05 * pairs, scale_nm, 1, 0.05 * pairs};
    result.precision = Jackknife(histogram, many, bounds, best_fit(histogram, many, bounds, {start}))(median_precision);
    return result;
}

}  // namespace glint
