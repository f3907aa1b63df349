// Computes means and variances of light levels, without the changes of the light itself.
// SPDX-License-Identifier: MIT
#include "analysis/light_levels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/median.hpp"
#include "data/highest_counts.hpp"
#include "glint/error.hpp"

namespace glint {
namespace {

constexpr double drift_significance = 4;  // standard errors, of the mean over the sensor
constexpr int max_ramp_levels = 10;       // enough to see a bend; more levels need more memory
constexpr std::int64_t min_ramp_frames = 20;
constexpr std::int64_t frames_of_a_level = 50;
constexpr double min_ramp = 1.5;     // brightest to dimmest level
constexpr double safe_distance = 5;  // standard deviations; clipping beyond changes the variance by 1e-5

double mean_of_map(const std::vector<float>& map) {
    double sum = 0;
    for (const float v : map) sum += v;
    return sum / double(map.size());
}

/// Also marks pixels whose counts might have been clipped. Their variance is too small, since only lower counts remain.
void mark_near_saturation(const std::vector<float>& dark_mean, Level& level) {
    const auto reach_it = std::count(level.saturated.begin(), level.saturated.end(), 1);
    if (reach_it < 2 && !fills_bits(level.saturation_adu)) {  // none, or a stuck pixel
        std::fill(level.saturated.begin(), level.saturated.end(), 0);
        return;
    }
    const double noise2 = std::max(median(level.of_all.variance), 0.0), light = std::max(level.reported.mean_adu, 1.0);
    for (std::size_t k = 0; k < level.mean.size(); ++k) {
        const double sd = std::hypot(std::sqrt(noise2 * std::max(1.0, level.mean[k] / light)),
                                     level.reported.light_spread * level.mean[k]);
        if (dark_mean[k] + level.mean[k] + safe_distance * sd > level.saturation_adu) level.saturated[k] = 1;
    }
}

/// Returns the number of saturated pixels if it is more than half of them, otherwise 0.
std::int64_t mostly_saturated(const std::vector<std::uint8_t>& saturated) {
    const auto count = std::count(saturated.begin(), saturated.end(), 1);
    return 2 * std::size_t(count) > saturated.size() ? count : 0;
}

void refuse_saturation(const MovieInfo& info, const std::vector<std::uint8_t>& saturated, double limit_adu,
                       const char* way_out) {
    if (const std::int64_t count = mostly_saturated(saturated))
        throw InputError(fmt::format(
            "{}: {} of {} pixels are saturated or nearly so: no count is above {:g} ADU, and counts pile up there: {}",
            info.name, count, saturated.size(), limit_adu, way_out));
}

/// Returns the statistics of frames. Throws InputError for NaN and infinite counts, which have no order and no median.
FrameStatistics finite_statistics(Movie& movie, std::int64_t first, std::int64_t count, const Finished& finished) {
    FrameStatistics result = frame_statistics(movie, first, count, finished);
    const auto bad =
        std::count_if(result.variance.begin(), result.variance.end(), [](float v) { return !std::isfinite(v); });
    if (bad > 0)
        throw InputError(fmt::format("{}: {} of {} pixels have counts that are not finite: give the raw movie",
                                     movie.info().name, bad, result.variance.size()));
    return result;
}

/// Variances of the frames' means: from their mean, and from their differences.
double variance_of_all(const std::vector<double>& frame_mean) {
    double mean = 0, squares = 0;
    for (const double m : frame_mean) mean += m / double(frame_mean.size());
    for (const double m : frame_mean) squares += (m - mean) * (m - mean);
    return squares / double(frame_mean.size() - 1);
}
double variance_of_steps(const std::vector<double>& frame_mean) {
    double squares = 0;
    for (std::size_t t = 1; t < frame_mean.size(); ++t) squares += std::pow(frame_mean[t] - frame_mean[t - 1], 2);
    return squares / (2 * double(frame_mean.size() - 1));
}

/// Subtracts the changes of the light as a whole from a variance (eq. 12.2). `frames_vary` is the variance of the
/// frames' means.
LevelNoise without_light(std::vector<float> variance, const std::vector<float>& mean, double frames_vary,
                         double freedom) {
    const double middle = mean_of_map(mean), pixels = double(variance.size());
    double shape = 0;  // mean square of the relative light
    for (const float m : mean) shape += std::pow(m / middle, 2) / pixels;
    const double light = pixels > shape ? (frames_vary - mean_of_map(variance) / pixels) / (1 - shape / pixels) : 0;
    for (std::size_t k = 0; k < variance.size(); ++k) variance[k] -= float(light * std::pow(mean[k] / middle, 2));
    return {std::move(variance), std::sqrt(std::max(0.0, light)) / middle, freedom};
}

double freedom_of_all(std::int64_t frames) { return double(frames - 1); }
double freedom_of_steps(std::int64_t frames) {
    return 2 * std::pow(double(frames - 1), 2) / (3 * double(frames) - 4);  // eq. 12.6
}

/// Returns how much more the light varies slowly than from frame to frame, relative to the variance; 0 if not
/// significant. Subtracts the same excess in the dark frames, such as from blinking pixels, since it is not a drift of
/// the light.
double drift_of(const Level& level, const FrameStatistics& dark) {
    double n = 0, sum = 0, squares = 0, variance = 0;
    for (std::size_t k = 0; k < level.mean.size(); ++k) {
        if (level.saturated[k]) continue;
        const double excess = double(level.of_all.variance[k]) - double(level.of_steps.variance[k]) -
                              (double(dark.variance[k]) - double(dark.step_variance[k]));
        n += 1, sum += excess, squares += excess * excess, variance += level.of_steps.variance[k];
    }
    if (n < 2) return 0;
    const double error = std::sqrt((squares - sum * sum / n) / (n * (n - 1)));
    return sum / n > drift_significance * error && variance > 0 ? sum / variance : 0;
}

/// Returns the squared relative error of a pixel's variance that is about `typical` (eq. 12.3).
double error2(const LevelNoise& noise, double typical, double mean_adu) {
    return 2 * (1 + 2 * std::pow(noise.light_spread * mean_adu, 2) / typical) / noise.freedom;
}

/// Returns nullopt if the level is not brighter than the dark movie. Sets `mean_adu` to its mean above the offset.
std::optional<Level> level_of(const std::string& name, FrameStatistics light, const FrameStatistics& dark,
                              double& mean_adu) {
    for (std::size_t k = 0; k < light.mean.size(); ++k) light.mean[k] -= dark.mean[k];
    mean_adu = mean_of_map(light.mean);
    if (!(mean_adu > 0)) return {};
    Level level;
    level.of_all = without_light(std::move(light.variance), light.mean, variance_of_all(light.frame_mean),
                                 freedom_of_all(light.frames));
    level.of_steps = without_light(std::move(light.step_variance), light.mean, variance_of_steps(light.frame_mean),
                                   freedom_of_steps(light.frames));
    level.mean = std::move(light.mean);
    level.saturation_adu = light.saturation_adu, level.saturated = std::move(light.saturated);
    level.reported.name = name, level.reported.frames = light.frames;
    level.reported.mean_adu = median(level.mean), level.reported.light_spread = level.of_all.light_spread;
    mark_near_saturation(dark.mean, level);
    return level;
}

}  // namespace

void check_calibration_movie(const MovieInfo& info, const MovieInfo& dark) {
    if (info.frames < 2)
        throw InputError(
            fmt::format("{}: {} frame has no variance: give at least 2 frames, better 1,000", info.name, info.frames));
    if (info.width != dark.width || info.height != dark.height)
        throw InputError(
            fmt::format("{} is {}x{} pixels, but {} is {}x{}: dark and light must be the same part of one sensor",
                        info.name, info.width, info.height, dark.name, dark.width, dark.height));
}

FrameStatistics dark_statistics(Movie& movie, const Finished& finished) {
    FrameStatistics dark = finite_statistics(movie, 0, movie.info().frames, finished);
    if (fills_bits(dark.saturation_adu))  // a low-noise camera's counts may end at any other count
        refuse_saturation(movie.info(), dark.saturated, dark.saturation_adu, "give a movie without light");
    return dark;
}

LevelNoise noise_of_all(const FrameStatistics& dark) { return {dark.variance, 0, freedom_of_all(dark.frames)}; }
LevelNoise noise_of_steps(const FrameStatistics& dark) {
    return {dark.step_variance, 0, freedom_of_steps(dark.frames)};
}

Level constant_level(Movie& movie, const FrameStatistics& dark, const Finished& finished) {
    const MovieInfo& info = movie.info();
    FrameStatistics light = finite_statistics(movie, 0, info.frames, finished);
    double mean_adu = 0;
    std::optional<Level> level = level_of(info.name, std::move(light), dark, mean_adu);
    if (!level)
        throw InputError(
            fmt::format("{} is not brighter than the dark movie: its mean is {:.2f} ADU above the offset. Were dark "
                        "and light exchanged?",
                        info.name, mean_adu));
    refuse_saturation(info, level->saturated, level->saturation_adu, "give a movie with less light");
    level->reported.drift = drift_of(*level, dark);
    const double typical = mean_of_map(level->of_steps.variance);
    level->by_steps = level->reported.drift > 0 ||
                      error2(level->of_steps, typical, mean_adu) < error2(level->of_all, typical, mean_adu);
    return std::move(*level);
}

std::vector<Level> ramp_levels(Movie& movie, const FrameStatistics& dark, const Finished& finished) {
    const MovieInfo& info = movie.info();
    if (info.frames < min_ramp_frames)
        throw InputError(fmt::format("{}: has {} frames: give a ramp of at least {} frames, better 5,000", info.name,
                                     info.frames, min_ramp_frames));
    const std::int64_t parts = std::clamp<std::int64_t>(info.frames / frames_of_a_level, 2, max_ramp_levels);
    std::vector<Level> levels;
    std::int64_t saturated = 0;
    double mean_adu = 0;
    for (std::int64_t part = 0; part < parts; ++part) {
        const std::int64_t first = info.frames * part / parts, end = info.frames * (part + 1) / parts;
        FrameStatistics light = finite_statistics(movie, first, end - first, finished);
        const std::string name = fmt::format("{}, frames {}:{}", info.name, first, end);
        auto level = level_of(name, std::move(light), dark, mean_adu);
        if (level && mostly_saturated(level->saturated))
            ++saturated;
        else if (level)
            levels.push_back(std::move(*level));
    }
    if (levels.empty() && saturated > 0)
        throw InputError(fmt::format("{}: is saturated: give a ramp with less light", info.name));
    if (levels.empty())
        throw InputError(
            fmt::format("{} is not brighter than the dark movie: were dark and light exchanged?", info.name));
    const auto [dimmest, brightest] =
        std::minmax_element(levels.begin(), levels.end(),
                            [](const Level& a, const Level& b) { return a.reported.mean_adu < b.reported.mean_adu; });
    if (saturated == 0 && std::size_t(parts) == levels.size() &&
        !(brightest->reported.mean_adu >= min_ramp * dimmest->reported.mean_adu))
        throw InputError(
            fmt::format("{}: its light is {:.1f} to {:.1f} ADU above the offset, but that of a ramp rises or falls by "
                        "half or more: give constant light as `light`",
                        info.name, dimmest->reported.mean_adu, brightest->reported.mean_adu));
    for (Level& level : levels) level.by_steps = level.reported.of_ramp = true;
    return levels;
}

}  // namespace glint
