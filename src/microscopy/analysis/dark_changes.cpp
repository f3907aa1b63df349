// Compares the means of dark movies, and slow with fast noise.
// SPDX-License-Identifier: MIT
#include "analysis/dark_changes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/median.hpp"
#include "data/joined_movie.hpp"
#include "glint/error.hpp"

namespace glint {
namespace {

constexpr std::int64_t frames_of_a_stretch = 50, most_stretches = 10;
constexpr double significant_change = 5;               // standard errors
constexpr double least_step_variance_adu2 = 1.0 / 12;  // that of rounding

std::vector<JoinedPart> stretches_of(const Movie& movie) {
    std::vector<JoinedPart> parts = parts_of(movie);
    if (parts.size() > 1) return parts;
    const MovieInfo& info = movie.info();
    const std::int64_t count = std::clamp<std::int64_t>(info.frames / frames_of_a_stretch, 1, most_stretches);
    parts.clear();
    for (std::int64_t k = 0; k < count; ++k) {
        const std::int64_t first = info.frames * k / count, end = info.frames * (k + 1) / count;
        parts.push_back({fmt::format("{}, frames {}:{}", info.name, first, end), first, end - first});
    }
    return parts;
}

}  // namespace

DarkChange dark_change(const Movie& movie, const FrameStatistics& dark) {
    const double read = std::max(median(dark.step_variance), least_step_variance_adu2),
                 pixels = double(dark.mean.size());
    const std::vector<JoinedPart> parts = stretches_of(movie);
    std::vector<double> means;
    double mean = 0, between = 0;
    for (const JoinedPart& part : parts) {
        const auto first = dark.frame_mean.begin() + part.first;
        means.push_back(std::accumulate(first, first + part.frames, 0.0) / double(part.frames));
        mean += means.back() * double(part.frames) / double(dark.frames);
    }
    for (std::size_t k = 0; k < parts.size(); ++k)
        between += std::pow(means[k] - mean, 2) * double(parts[k].frames) / double(dark.frames);
    const auto [low, high] = std::minmax_element(means.begin(), means.end());
    const JoinedPart &lowest = parts[std::size_t(low - means.begin())],
                     &highest = parts[std::size_t(high - means.begin())];
    const double chance = std::sqrt(read / pixels * (1 / double(lowest.frames) + 1 / double(highest.frames)));
    if (!(*high - *low > significant_change * chance)) between = 0;
    if (dark.frames >= frames_of_a_stretch) {  // what differs from pixel to pixel changes no mean
        std::vector<float> slow = dark.variance;
        for (std::size_t k = 0; k < slow.size(); ++k) slow[k] -= dark.step_variance[k];
        between = std::max(between, median(std::move(slow)));
    }
    const DarkChange change{lowest.name, highest.name, *low, *high, between / read};
    if (change.share > 1)
        throw InputError(fmt::format(
            "dark frames: their offset changes, from {:.2f} ADU ({}) to {:.2f} ADU ({}), or in some pixels more, by "
            "which "
            "counts vary {:.3g} times as much as by read noise: give dark frames of one camera setting, taken when the "
            "sensor's temperature is steady",
            *low, lowest.name, *high, highest.name, std::sqrt(change.share)));
    return change;
}

}  // namespace glint
