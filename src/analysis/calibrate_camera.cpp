// From dark movies and levels of light to the maps of a camera (docs/theory.md, section 12).
// SPDX-License-Identifier: MIT
#include "glint/calibrate_camera.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "analysis/frame_statistics.hpp"
#include "analysis/pixel_faults.hpp"
#include "base/median.hpp"
#include "glint/error.hpp"

namespace glint {
namespace {

constexpr float least_variance_adu2 = 1e-6f;  // of a pixel that never changes, so that its weight is finite
constexpr double significant = 5;             // standard errors
constexpr double most_gain_error = 0.1;       // relative, of a pixel that keeps its own

/// Variance over the mean above the offset, of each pixel; its light's own fluctuations taken out (eq. 12.2).
struct Level {
    std::vector<float> mean, variance;
    std::vector<std::uint8_t> saturated;
    double frames = 0;
};

double median_of_map(const std::vector<float>& map) { return median(std::vector<double>(map.begin(), map.end())); }

void check(const MovieInfo& info, const MovieInfo& dark) {
    if (info.frames < 2)
        throw InputError(
            fmt::format("{}: {} frame has no variance: give at least 2 frames, better 1,000", info.name, info.frames));
    if (info.width != dark.width || info.height != dark.height)
        throw InputError(
            fmt::format("{} is {}x{} pixels and {} {}x{}: dark and light must be the same part of one sensor",
                        info.name, info.width, info.height, dark.name, dark.width, dark.height));
}

void refuse_saturation(const MovieInfo& info, const FrameStatistics& light, const char* way_out) {
    if (info.type == PixelType::float32) return;
    const float most = info.type == PixelType::uint8 ? 255.0f : 65535.0f;
    const auto near = std::count_if(light.mean.begin(), light.mean.end(), [&](float m) { return m > 0.98f * most; });
    if (2 * std::size_t(near) > light.mean.size())
        throw InputError(fmt::format("{}: {} of {} pixels are saturated (near {} ADU): {}", info.name, near,
                                     light.mean.size(), most, way_out));
}

/// The statistics of a movie without NaN and infinite counts, of which no order and no median exist.
FrameStatistics measured(Movie& movie, const std::function<void(std::int64_t)>& finished) {
    FrameStatistics result = frame_statistics(movie, finished);
    const auto bad =
        std::count_if(result.variance.begin(), result.variance.end(), [](float v) { return !std::isfinite(v); });
    if (bad > 0)
        throw InputError(fmt::format("{}: {} of {} pixels have counts that are no finite numbers: give the raw movie",
                                     movie.info().name, bad, result.variance.size()));
    return result;
}

/// Variance of the frames' means beyond what the pixels' noise explains, ADU^2.
double light_variance(const FrameStatistics& light) {
    double mean = 0, squares = 0, noise = 0;
    for (double m : light.frame_mean) mean += m / double(light.frames);
    for (double m : light.frame_mean) squares += (m - mean) * (m - mean) / double(light.frames - 1);
    for (float v : light.variance) noise += v;
    return squares - noise / std::pow(double(light.variance.size()), 2);
}

Level level_of(const MovieInfo& info, FrameStatistics light, const FrameStatistics& dark, LightLevel& summary) {
    refuse_saturation(info, light, "give a movie with less light");
    const double fluctuation = light_variance(light);
    double sum = 0;
    for (std::size_t k = 0; k < light.mean.size(); ++k) sum += light.mean[k] -= dark.mean[k];
    const double mean = sum / double(light.mean.size());
    if (!(mean > 0))
        throw InputError(
            fmt::format("{} is not brighter than the dark movie: its mean is {:.2f} ADU above the offset; "
                        "were dark and light exchanged?",
                        info.name, mean));
    for (std::size_t k = 0; k < light.mean.size(); ++k)
        light.variance[k] -= float(fluctuation * std::pow(light.mean[k] / mean, 2));
    summary = {info.name, light.frames, median_of_map(light.mean), median_of_map(light.variance),
               std::sqrt(std::max(0.0, fluctuation)) / mean};
    return {std::move(light.mean), std::move(light.variance), std::move(light.saturated), double(light.frames)};
}

/// Weighted least squares of variance against mean (eq. 12.3); the weights are those of the line with `slope`, since
/// measured variances as weights would prefer those that are too small. Levels that saturate the pixel are left out;
/// without any other, the slope is NaN.
PixelLine line_of(std::size_t k, const FrameStatistics& dark, const std::vector<Level>& levels, double slope) {
    const double read = std::max(dark.variance[k], least_variance_adu2);
    double s = 0, sx = 0, sy = 0, sxx = 0, sxy = 0, syy = 0;
    const auto add = [&](double x, double y, double frames) {
        const double variance = read + slope * std::max(x, 0.0);
        const double w = 1 / (2 * variance * variance / (frames - 1) + read * slope * slope / frames);
        s += w, sx += w * x, sy += w * y, sxx += w * x * x, sxy += w * x * y, syy += w * y * y;
    };
    add(0, dark.variance[k], double(dark.frames));
    int used = 0;
    for (const Level& level : levels)
        if (!level.saturated[k]) add(level.mean[k], level.variance[k], level.frames), ++used;
    if (used == 0) return {NAN, INFINITY, 0};
    const double determinant = s * sxx - sx * sx, found = (s * sxy - sx * sy) / determinant;
    const double start = (sy - found * sx) / s;
    const double misfit = syy - found * sxy - start * sy;
    return {found, std::sqrt(s / determinant), used > 1 ? misfit / (used - 1) : 0};
}

std::vector<PixelLine> lines_of(const FrameStatistics& dark, const std::vector<Level>& levels, double slope) {
    std::vector<PixelLine> lines(dark.mean.size());
    for (std::size_t k = 0; k < lines.size(); ++k) lines[k] = line_of(k, dark, levels, slope);
    return lines;
}

double median_slope(const std::vector<PixelLine>& lines) {
    std::vector<double> slopes;
    for (const PixelLine& line : lines)
        if (std::isfinite(line.slope)) slopes.push_back(line.slope);
    return slopes.empty() ? 0 : median(std::move(slopes));
}

/// Weighted mean of the slopes and their true spread over the sensor (eq. 12.4), without bad pixels and those that are far off.
struct Slopes {
    double mean = 0, error = 0, spread = 0;
};
Slopes combine(const std::vector<PixelLine>& lines, const std::vector<PixelFault>& faults, double centre) {
    double s = 0, ss = 0, sk = 0, skk = 0, n = 0;
    std::vector<double> distances;
    for (const PixelLine& line : lines)
        if (std::isfinite(line.slope)) distances.push_back(std::abs(line.slope - centre));
    const double limit = significant * 1.4826 * median(std::move(distances));
    for (std::size_t k = 0; k < lines.size(); ++k) {
        const double d = lines[k].slope - centre, w = 1 / (lines[k].error * lines[k].error);
        if (faults[k] != PixelFault::none || !(std::abs(d) <= limit) || !std::isfinite(w)) continue;
        s += w, ss += w * w, sk += w * d, skk += w * d * d, n += 1;
    }
    const double excess = skk - sk * sk / s - (n - 1);
    const double spread2 = excess > 3 * std::sqrt(2 * n) ? excess / (s - ss / s) : 0;
    return {centre + sk / s, std::sqrt(1 / s + spread2 * ss / (s * s)), std::sqrt(spread2)};
}

void take_gains(const std::vector<PixelLine>& lines, const Slopes& all, CameraCalibration& out) {
    const double gain = 1 / all.mean;
    out.sensor_gain = gain, out.sensor_gain_error = all.error * gain * gain, out.gain_spread = all.spread * gain;
    std::vector<double> errors;
    const bool has_chi2 = out.levels.size() > 1;
    double good_with_chi2 = 0;
    for (std::size_t k = 0; k < lines.size(); ++k) {
        const PixelLine& line = lines[k];
        const bool good = out.faults[k] == PixelFault::none;
        const double difference = std::abs(line.slope - all.mean);
        const bool own = good && line.error <= most_gain_error * line.slope &&
                         (line.error < all.spread || difference > significant * line.error);
        const double slope = own ? line.slope : all.mean, error = own ? line.error : std::hypot(all.spread, all.error);
        out.gain_e_per_adu.value.push_back(float(1 / slope));
        out.gain_e_per_adu.error.push_back(float(error / (slope * slope)));
        out.own_gains += own;
        if (has_chi2) out.chi2.push_back(float(line.chi2));
        if (good && line.chi2 > 0) out.mean_chi2 += line.chi2, good_with_chi2 += 1;
        if (std::isfinite(line.error)) errors.push_back(line.error * gain);
    }
    if (good_with_chi2 > 0) out.mean_chi2 /= good_with_chi2;
    out.pixel_gain_error = median(std::move(errors));
}

void measure_gain(const FrameStatistics& dark, const std::vector<Level>& levels, CameraCalibration& out) {
    const auto brightest = std::max_element(out.levels.begin(), out.levels.end(),
                                            [](const auto& a, const auto& b) { return a.mean_adu < b.mean_adu; });
    double slope = (brightest->variance_adu2 - median_of_map(dark.variance)) / brightest->mean_adu;
    if (slope > 0) slope = median_slope(lines_of(dark, levels, slope));
    if (!(slope > 0))
        throw InputError(fmt::format(
            "{}: the variance does not rise with the mean ({:.3g} ADU^2 at {:.3g} ADU above the offset, {:.3g} "
            "ADU^2 in the dark): frames must be raw, neither averaged nor saturated",
            brightest->name, brightest->variance_adu2, brightest->mean_adu, median_of_map(dark.variance)));
    const std::vector<PixelLine> lines = lines_of(dark, levels, slope);
    const Level& most = levels[std::size_t(brightest - out.levels.begin())];
    const LightResponse response{lines, slope, most.mean, most.frames};
    find_faults(dark, &response, out);
    take_gains(lines, combine(lines, out.faults, slope), out);
}

}  // namespace

CameraCalibration calibrate_camera(Movie& dark_movie, const std::vector<Movie*>& light,
                                   const CalibrateCameraOptions& options) {
    const MovieInfo& info = dark_movie.info();
    check(info, info);
    std::int64_t done = 0, total = info.frames;
    for (const Movie* movie : light) check(movie->info(), info), total += movie->info().frames;
    const auto finished = [&](std::int64_t frames) {
        if (options.stop && options.stop->load()) throw Cancelled("the calibration was stopped");
        if (options.progress) options.progress(done += frames, total, -1);
    };
    const FrameStatistics dark = measured(dark_movie, finished);
    refuse_saturation(info, dark, "give a movie without light");
    CameraCalibration out;
    out.width = info.width, out.height = info.height, out.dark_frames = info.frames;
    out.sensor_gain = options.gain_e_per_adu;
    out.offset_adu.value = dark.mean, out.readvar_adu2.value = dark.variance;
    for (float v : dark.variance) {
        out.offset_adu.error.push_back(std::sqrt(v / float(dark.frames)));
        out.readvar_adu2.error.push_back(v * std::sqrt(2.0f / float(dark.frames - 1)));
    }
    std::vector<Level> levels;
    for (Movie* movie : light) {
        out.levels.emplace_back();
        levels.push_back(level_of(movie->info(), measured(*movie, finished), dark, out.levels.back()));
        out.saturated += std::count(levels.back().saturated.begin(), levels.back().saturated.end(), 1);
    }
    if (levels.empty())
        find_faults(dark, nullptr, out);
    else
        measure_gain(dark, levels, out);
    return out;
}

std::vector<std::string> calibration_warnings(const CameraCalibration& c) {
    std::vector<std::string> warnings;
    const std::vector<float>& variance = c.readvar_adu2.value;
    const auto still = std::count(variance.begin(), variance.end(), 0.0f);
    if (2 * std::size_t(still) > variance.size())
        warnings.push_back(fmt::format(
            "{} of {} pixels have the same count in all {} dark frames, so that no read noise was measured, and it "
            "stands as 0: {}",
            still, variance.size(), c.dark_frames,
            median_of_map(c.offset_adu.value) == 0
                ? "that count is 0, as where the offset lies below 0 and counts are cut off there: set a higher offset "
                  "(baseline, black level) in the camera's software"
                : "are they copies of one frame, or not raw? If they are raw, the camera's noise is far less than a "
                  "count, and only "
                  "more frames show it"));
    constexpr double most_chi2 = 1.5;
    if (!c.chi2.empty() && c.mean_chi2 > most_chi2)
        warnings.push_back(
            fmt::format("variances miss the line of variance over mean (reduced chi2 {:.2f}): is the brightest level "
                        "saturated, or the camera's response not linear?",
                        c.mean_chi2));
    return warnings;
}

}  // namespace glint
