// Computes one curve for each split of the groups into two equal halves. Ring sums of halves follow from ring sums of
// groups.
// SPDX-License-Identifier: MIT
#include "analysis/frc.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace glint {
namespace {

constexpr double threshold = 1.0 / 7;
constexpr std::size_t min_span = 3;  // rings on either side
constexpr double span_of_curve = 0.025;

/// Sums over a ring for two halves: the product of the halves, and the geometric mean of their powers.
struct HalfSums {
    double across = 0, power = 0;
};

HalfSums half_sums(const std::array<double, frc_products>& ring, unsigned half) {
    double across = 0, first = 0, second = 0;
    for (int a = 0; a < frc_groups; ++a)
        for (int b = 0; b < frc_groups; ++b) {
            const double product = ring[std::size_t(frc_product(a, b))];
            const bool in_a = half >> a & 1, in_b = half >> b & 1;
            if (in_a != in_b)
                across += 0.5 * product;
            else
                (in_a ? first : second) += product;
        }
    return {across, std::sqrt(first * second)};
}

/// Smooths by straight lines, as loess does. Rings are weighted by their Fourier pixels, and less with distance
/// (tricube).
std::vector<double> smoothed(const std::vector<double>& curve, const std::vector<double>& sizes) {
    const std::size_t n = curve.size(), span = std::max(min_span, std::size_t(span_of_curve * double(n)));
    std::vector<double> out(n);
    for (std::size_t k = 0; k < n; ++k) {
        double s0 = 0, s1 = 0, s2 = 0, t0 = 0, t1 = 0;
        for (std::size_t i = k > span ? k - span : 0; i < std::min(n, k + span + 1); ++i) {
            const double x = double(i) - double(k), u = std::abs(x) / double(span + 1);
            const double weight = sizes[i] * std::pow(1 - u * u * u, 3);
            s0 += weight, s1 += weight * x, s2 += weight * x * x, t0 += weight * curve[i], t1 += weight * x * curve[i];
        }
        const double determinant = s0 * s2 - s1 * s1;
        out[k] = determinant > 1e-12 * s0 * s2 ? (s2 * t0 - s1 * t1) / determinant : s0 > 0 ? t0 / s0 : 0;
    }
    return out;
}

/// Returns the ring (a fraction) at which the curve first falls below the threshold, or 0 if it never does.
double crossing_of(const std::vector<double>& curve) {
    for (std::size_t k = 2; k < curve.size(); ++k)
        if (curve[k - 1] >= threshold && curve[k] < threshold)
            return double(k - 1) + (curve[k - 1] - threshold) / (curve[k - 1] - curve[k]);
    return 0;
}

}  // namespace

void put_curves(Frc& to, const RingSums& sums, const RingsByChance& chance, double ring_per_nm) {
    const std::size_t rings = sums.size();
    to.correlation.assign(rings, 0), to.smoothed.assign(rings, 0);
    to.frequency_per_nm.clear(), to.splits = 0, to.resolution = {};
    to.random_nm = std::numeric_limits<double>::quiet_NaN();
    std::vector<double> resolutions, at_random(rings, 0);
    for (unsigned half = 1; half < 1u << frc_groups; half += 2) {  // the half that contains group 0
        if (std::popcount(half) != frc_groups / 2) continue;
        ++to.splits;
        std::vector<double> curve;
        for (std::size_t k = 0; k < rings; ++k) {
            const HalfSums ring = half_sums(sums[k], half);
            curve.push_back(ring.power > 0 ? ring.across / ring.power : 0);
            if (ring.power > 0) at_random[k] += chance.outline[k] / ring.power;
        }
        const std::vector<double> smooth = smoothed(curve, chance.pixels);
        for (std::size_t k = 0; k < rings; ++k) to.correlation[k] += curve[k], to.smoothed[k] += smooth[k];
        if (const double ring = crossing_of(smooth); ring > 0) resolutions.push_back(1 / (ring * ring_per_nm));
    }
    for (double& correlation : at_random) correlation /= to.splits;
    if (const double ring = crossing_of(smoothed(at_random, chance.pixels)); ring > 0)
        to.random_nm = 1 / (ring * ring_per_nm);
    for (std::size_t k = 0; k < rings; ++k) {
        to.frequency_per_nm.push_back(double(k) * ring_per_nm);
        to.correlation[k] /= to.splits, to.smoothed[k] /= to.splits;
    }
    to.correlation[0] = to.smoothed[0] = 1;           // the transform at 0 counts localizations
    if (int(resolutions.size()) < to.splits) return;  // without a crossing in every curve there is no resolution
    double mean = 0, sum = 0;
    for (double r : resolutions) mean += r / double(resolutions.size());
    for (double r : resolutions) sum += (r - mean) * (r - mean);
    to.resolution = {mean, std::sqrt(sum / double(resolutions.size() - 1))};
}

}  // namespace glint
