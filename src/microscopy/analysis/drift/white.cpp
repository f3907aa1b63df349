// The jitter that is new in each frame, from the steps within blinks.
// SPDX-License-Identifier: MIT
#include "analysis/drift/white.hpp"

#include <algorithm>
#include <cmath>

namespace glint::drift {
namespace {

/// A number, and 1 / variance of it.
struct Measurement {
    double value = 0, information = 0;
};

/// Variance of the jitter that is new in each frame: half the covariance of the steps of different blinks between the same
/// frames, which share the drift and none of the errors; where a molecule is does not matter.
Measurement white_of_steps(const Table& t, const Blinks& blinks, std::size_t a) {
    struct Steps {
        double sum = 0, weight = 0, sum_squares = 0, weight_squares = 0;
    };
    std::vector<Steps> of_frame(std::size_t(t.frames));
    for (std::size_t b = 0; b < blinks.size(); ++b)
        for (std::uint32_t k = blinks.begin[b] + 1; k < blinks.begin[b + 1]; ++k) {
            const std::uint32_t i = blinks.members[k], before = blinks.members[k - 1];
            if (t.frame[i] != t.frame[before] + 1) continue;
            const double step = double(t.nm[a][i]) - double(t.nm[a][before]);
            const double weight = 1 / (double(t.precision_nm[a][i]) * t.precision_nm[a][i] +
                                       double(t.precision_nm[a][before]) * t.precision_nm[a][before]);
            Steps& to = of_frame[std::size_t(t.frame[i])];
            to.sum += weight * step, to.sum_squares += weight * weight * step * step;
            to.weight += weight, to.weight_squares += weight * weight;
        }
    double products = 0, weights = 0;  // of pairs of blinks
    for (const Steps& s : of_frame) {
        products += 0.5 * (s.sum * s.sum - s.sum_squares);
        weights += 0.5 * (s.weight * s.weight - s.weight_squares);
    }
    return weights > 0 ? Measurement{0.5 * products / weights, 4 * weights} : Measurement{};
}

}  // namespace

std::array<double, 3> white_nm(const Table& t, const Blinks& blinks) {
    constexpr double good_error = 0.5, worst_error = 1;  // nm^2: less is known of it than would be of use
    std::array<Measurement, 3> own;
    Measurement mean;
    for (std::size_t a = 0; a < std::size_t(t.axes); ++a) {
        own[a] = white_of_steps(t, blinks, a);
        mean.value += own[a].value * own[a].information, mean.information += own[a].information;
    }
    if (mean.information > 0) mean.value /= mean.information;
    const auto better_than = [](const Measurement& m, double error) { return m.information * error * error > 1; };
    std::array<double, 3> white{};
    for (std::size_t a = 0; a < std::size_t(t.axes); ++a) {
        const Measurement& by = better_than(own[a], good_error) ? own[a] : mean;
        if (better_than(by, worst_error)) white[a] = std::sqrt(std::max(0.0, by.value));
    }
    return white;
}

}  // namespace glint::drift
