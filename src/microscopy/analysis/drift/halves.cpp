// The drift that molecules show in each frame, from two halves of the field that have no molecule in common.
// SPDX-License-Identifier: MIT
#include "analysis/drift/scores.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/median.hpp"

namespace glint::drift {

bool second_half(float x_nm, float y_nm) {
    constexpr double block_nm = 2000;
    return (int(std::floor(x_nm / block_nm)) + int(std::floor(y_nm / block_nm))) & 1;
}

namespace {

/// Returns what the blinks of either part show along one axis.
template <class InSecond>
std::array<Seen, 2> seen_by_parts(const Table& t, const Blinks& blinks, const Points& points, const Pulls& pulls,
                                  const std::vector<double>& drift, std::size_t a, InSecond in_second) {
    const auto frames = std::size_t(t.frames);
    std::array<Seen, 2> parts;
    for (Seen& s : parts) s.value.assign(frames, 0), s.information.assign(frames, 0);
    for (std::size_t b = 0; b < blinks.size(); ++b) {
        const double information = pulls.information[a][b];
        if (!(information > 0)) continue;
        Seen& s = parts[in_second(points.nm[0][b], points.nm[1][b])];
        // No blink has more information than its own precision gives. set_errors() corrects all errors later.
        const double total = std::min(information, 1.0 / double(points.variance[a][b]));
        for (std::uint32_t k = blinks.begin[b]; k < blinks.begin[b + 1]; ++k) {
            const std::uint32_t i = blinks.members[k];
            const auto f = std::size_t(t.frame[i]);
            const double weight =
                total * double(points.variance[a][b]) / (double(t.precision_nm[a][i]) * t.precision_nm[a][i]);
            const double within = t.nm[a][i] - drift[f] - points.nm[a][b];
            s.value[f] += weight * (within + pulls.offset_nm[a][b] + drift[f]);
            s.information[f] += weight;
        }
    }
    for (Seen& s : parts)
        for (std::size_t f = 0; f < frames; ++f)
            if (s.information[f] > 0) s.value[f] /= s.information[f];
    return parts;
}

}  // namespace

SeenByHalves seen_by_halves(const Table& t, const Blinks& blinks, const Points& points, const Pulls& pulls,
                            const std::vector<double>& drift, std::size_t a) {
    auto [first, second] = seen_by_parts(t, blinks, points, pulls, drift, a, second_half);
    SeenByHalves to;
    to.half[0] = std::move(first), to.half[1] = std::move(second);
    to.all = to.half[0];
    add_seen(to.all, to.half[1]);
    return to;
}

namespace {

/// Differences of means, with their own mean subtracted: the sum of squares over variances, the sum of 1 / variance,
/// and the number of differences.
struct Differing {
    double squares = 0, weights = 0, count = 0;
};

Differing differing(const Seen& one, const Seen& other) {
    Differing to;
    double sum = 0;
    for (std::size_t k = 0; k < one.value.size(); ++k) {
        if (!(one.information[k] > 0 && other.information[k] > 0)) continue;
        const double by = one.value[k] - other.value[k];
        const double weight = 1 / (1 / one.information[k] + 1 / other.information[k]);
        to.weights += weight, sum += weight * by, to.squares += weight * by * by;
        ++to.count;
    }
    if (to.weights > 0) to.squares -= sum * sum / to.weights;
    return to;
}

/// Returns means of the observations with `drift` subtracted. Otherwise, two sides with rows in different frames would
/// differ by the motion between these frames.
Seen rest_means(const Seen& seen, const std::vector<double>& drift, std::size_t width) {
    Seen rest = seen;
    for (std::size_t f = 0; f < drift.size(); ++f) rest.value[f] -= drift[f];
    return means_of(rest, width);
}

/// Returns the mean square difference between the halves' means of `width` frames, divided by what their errors
/// predict. With few means, the result is closer to 1.
double excess_of_means(const SeenByHalves& seen, const std::vector<double>& drift, std::size_t width) {
    constexpr double as_many_of_one = 10;
    const Differing d = differing(rest_means(seen.half[0], drift, width), rest_means(seen.half[1], drift, width));
    return d.count < 2 ? 1 : (d.squares + as_many_of_one) / (d.count - 1 + as_many_of_one);
}

void scale_errors(SeenByHalves& seen, double by) {
    for (Seen* s : {&seen.all, &seen.half[0], &seen.half[1]})
        for (double& information : s->information) information /= by;
}

}  // namespace

void set_errors(SeenByHalves& seen, const std::vector<double>& drift, double blink_frames) {
    constexpr double least = 0.25, chance_of_long = 1.5;
    constexpr std::size_t long_means = 30;
    const std::size_t frames = seen.all.value.size();
    seen.lasting_frames = blink_frames;
    // Means longer than a blink, because the error of a blink is the same in all its frames.
    scale_errors(seen,
                 std::max(least, excess_of_means(seen, drift, std::max(frames / 400, std::size_t(4 * blink_frames)))));
    const double apart =
        std::max(1.0, excess_of_means(seen, drift, std::max<std::size_t>(1, frames / long_means)) / chance_of_long);
    scale_errors(seen, apart);
    seen.apart = std::sqrt(apart);
}

SidesApart sides_apart(const Table& t, const Blinks& blinks, const Points& points, const Pulls& pulls,
                       const std::vector<double>& drift, std::size_t a, std::size_t side) {
    constexpr std::size_t long_means = 20;
    const float middle = float(median(std::vector<float>(points.nm[side])));
    const auto [first, second] =
        seen_by_parts(t, blinks, points, pulls, drift, a, [&](float x, float y) { return (side ? y : x) > middle; });
    const std::size_t width = std::max<std::size_t>(1, std::size_t(t.frames) / long_means);
    const Differing d = differing(rest_means(first, drift, width), rest_means(second, drift, width));
    if (d.count < 5) return {};
    return {std::sqrt(std::max(0.0, d.squares - (d.count - 1)) / d.weights), d.squares / (d.count - 1)};
}

void add_seen(Seen& to, const Seen& more) {
    for (std::size_t f = 0; f < to.value.size(); ++f) {
        const double information = to.information[f] + more.information[f];
        if (!(information > 0)) continue;
        to.value[f] = (to.value[f] * to.information[f] + more.value[f] * more.information[f]) / information;
        to.information[f] = information;
    }
}

}  // namespace glint::drift
