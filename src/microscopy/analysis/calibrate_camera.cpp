// Computes the maps of a camera from dark movies and levels of light (docs/explanation/theory.md, section 12).
// SPDX-License-Identifier: MIT
#include "glint/calibrate_camera.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/frame_statistics.hpp"
#include "analysis/light_levels.hpp"
#include "analysis/transfer_curve.hpp"
#include "base/median.hpp"
#include "glint/error.hpp"

namespace glint {
namespace {

constexpr double significant = 5;       // standard errors
constexpr double max_gain_error = 0.1;  // relative, of a pixel that keeps its own gain

double median_slope(const std::vector<PixelLine>& lines) {
    std::vector<double> slopes;
    for (const PixelLine& line : lines)
        if (std::isfinite(line.slope)) slopes.push_back(line.slope);
    return slopes.empty() ? 0 : median(std::move(slopes));
}

/// Weighted mean of the slopes and their true spread over the sensor (eq. 12.4), without bad pixels and outliers.
struct Slopes {
    double mean = 0, error = 0, spread = 0;
};
Slopes combine(const std::vector<PixelLine>& lines, const std::vector<PixelFault>& faults, double centre) {
    double s = 0, ss = 0, sk = 0, skk = 0, se = 0, sse = 0, see = 0;
    std::vector<double> distances;
    for (const PixelLine& line : lines)
        if (std::isfinite(line.slope)) distances.push_back(std::abs(line.slope - centre));
    const double limit = significant * 1.4826 * median(std::move(distances));
    for (std::size_t k = 0; k < lines.size(); ++k) {
        const double d = lines[k].slope - centre, w = 1 / std::pow(lines[k].typical_error, 2);
        if (faults[k] != PixelFault::none || !(std::abs(d) <= limit) || !(w > 0) || !std::isfinite(w)) continue;
        const double e = w * lines[k].error * lines[k].error;
        s += w, ss += w * w, sk += w * d, skk += w * d * d, se += e, sse += w * e, see += e * e;
    }
    const double excess = skk - sk * sk / s - (se - sse / s);
    const double spread2 = excess > 3 * std::sqrt(2 * see) ? excess / (s - ss / s) : 0;
    return {centre + sk / s, std::sqrt(sse + spread2 * ss) / s, std::sqrt(spread2)};
}

void take_gains(const std::vector<PixelLine>& lines, const Slopes& all, CameraCalibration& out) {
    const double misfit = all.error * std::sqrt(std::pow(out.error_factor, 2) - 1);  // the same in all pixels
    const double sensor_error = std::hypot(all.error, misfit), one = out.gain_per_slope();
    out.sensor_gain = one / all.mean, out.sensor_gain_error = one * sensor_error / std::pow(all.mean, 2);
    out.gain_spread = all.spread / all.mean;
    std::vector<double> errors;
    const bool has_chi2 = out.levels.size() > 1;
    double good_with_chi2 = 0;
    for (std::size_t k = 0; k < lines.size(); ++k) {
        const PixelLine& line = lines[k];
        const bool good = out.faults[k] == PixelFault::none;
        const double difference = std::abs(line.slope - all.mean);
        const bool own = good && line.error <= max_gain_error * line.slope &&
                         (line.error < all.spread || difference > significant * line.error);
        const double slope = own ? line.slope : all.mean,
                     error = std::hypot(own ? line.error : all.spread, own ? misfit : sensor_error);
        out.gain_e_per_adu.value.push_back(float(one / slope));
        out.gain_e_per_adu.error.push_back(float(one * error / (slope * slope)));
        out.own_gains += own;
        if (has_chi2) out.chi2.push_back(float(line.chi2));
        if (good && line.chi2 > 0) out.mean_chi2 += line.chi2, good_with_chi2 += 1;
        if (std::isfinite(line.error)) errors.push_back(line.error / all.mean);
    }
    if (good_with_chi2 > 0) out.mean_chi2 /= good_with_chi2;
    out.pixel_gain_error = median(std::move(errors));
}

/// Fills `sample` for a plot: up to 1,000 good and 1,000 bad pixels, evenly over the sensor.
void take_sample(const TransferCurve& curve, CameraCalibration& out) {
    constexpr std::size_t max_per_kind = 1000;
    for (const bool good : {true, false}) {
        std::vector<std::int64_t> all;
        for (std::size_t k = 0; k < out.faults.size(); ++k)
            if ((out.faults[k] == PixelFault::none) == good) all.push_back(std::int64_t(k));
        const std::size_t taken = std::min(all.size(), max_per_kind);
        for (std::size_t i = 0; i < taken; ++i) out.sample.push_back(all[(i * all.size() + all.size() / 2) / taken]);
    }
    for (std::size_t j = 0; j < curve.levels.size(); ++j)
        for (const std::int64_t k : out.sample) {
            out.levels[j].sample_mean_adu.push_back(curve.levels[j].level.mean[std::size_t(k)]);
            out.levels[j].sample_variance_adu2.push_back(curve.levels[j].noise.variance[std::size_t(k)]);
        }
}

void measure_gain(const FrameStatistics& dark, const std::vector<Level>& levels, CameraCalibration& out) {
    const TransferCurve curve = transfer_curve(dark, levels, out.em_gain > 1);
    for (const auto& [level, noise] : curve.levels) {
        out.levels.push_back(level.reported);
        out.levels.back().variance_adu2 = median(noise.variance);
    }
    const auto brightest = std::max_element(out.levels.begin(), out.levels.end(),
                                            [](const auto& a, const auto& b) { return a.mean_adu < b.mean_adu; });
    double slope = (brightest->variance_adu2 - median(curve.dark.variance)) / brightest->mean_adu;
    if (slope > 0) slope = median_slope(lines_of(curve, slope));
    if (!(slope > 0))
        throw InputError(fmt::format(
            "{}: the variance does not rise with the mean ({:.3g} ADU^2 at {:.3g} ADU above the offset, {:.3g} "
            "ADU^2 in the dark): frames must be raw, neither averaged nor saturated",
            brightest->name, brightest->variance_adu2, brightest->mean_adu, median(curve.dark.variance)));
    const std::vector<PixelLine> lines = lines_of(curve, slope);
    const Level& most = levels[std::size_t(brightest - out.levels.begin())];
    const LightResponse response{lines, slope, most.mean, double(most.reported.frames)};
    find_faults(dark, &response, out);
    out.error_factor = widening(curve, slope, out.faults);
    take_gains(lines, combine(lines, out.faults, slope), out);
    if (out.error_factor > 1 && !(out.sensor_gain_error <= max_gain_error * out.sensor_gain))
        throw InputError(fmt::format(
            "{}: the variances of the levels deviate from the line of variance over mean by {:.0f} of their standard "
            "errors. The gain is therefore known to {:.2g} % only: {:.4g} +- {:.2g} e-/ADU. Leave out the brightest "
            "level, which may be saturated, and levels of another camera or other settings",
            brightest->name, out.error_factor, 100 * out.sensor_gain_error / out.sensor_gain, out.sensor_gain,
            out.sensor_gain_error));
    take_sample(curve, out);
}

/// Returns `given` if it is above 0, otherwise the EM gain in the movies' metadata, or 1 if none is recorded.
double em_gain_of(const std::vector<const Movie*>& movies, double given) {
    if (given > 0) return given;
    const MovieInfo* said = nullptr;
    for (const Movie* movie : movies) {
        const MovieInfo& info = movie->info();
        if (const auto found = info.contradictions.find("EM gain"); found != info.contradictions.end())
            throw InputError(
                fmt::format("{}: EM gain: {}: calibrate with movies of one EM gain, or give it (`em_gain`) if the "
                            "metadata are wrong",
                            info.name, found->second));
        if (!info.em_gain) continue;
        if (said && *said->em_gain != *info.em_gain)
            throw InputError(
                fmt::format("{}: its metadata contain an EM gain of {:g}, and those of {} contain {:g}: calibrate with "
                            "movies of one EM gain, or give it (`em_gain`) if the metadata are wrong",
                            info.name, *info.em_gain, said->name, *said->em_gain));
        said = &info;
    }
    return said ? *said->em_gain : 1;
}

}  // namespace

CameraCalibration calibrate_camera(Movie& dark_movie, const std::vector<Movie*>& light,
                                   const CalibrateCameraOptions& options) {
    const MovieInfo& info = dark_movie.info();
    std::vector<const Movie*> movies{&dark_movie};
    for (const auto* some : {&light, &options.ramps}) movies.insert(movies.end(), some->begin(), some->end());
    std::int64_t done = 0, total = 0;
    for (const Movie* movie : movies) check_calibration_movie(movie->info(), info), total += movie->info().frames;
    const auto finished = [&](std::int64_t frames) {
        if (options.stop && options.stop->load()) throw Cancelled("the calibration was stopped");
        if (options.progress) options.progress(done += frames, total, -1);
    };
    const FrameStatistics dark = dark_statistics(dark_movie, finished);
    CameraCalibration out;
    out.width = info.width, out.height = info.height, out.dark_frames = info.frames;
    out.sensor_gain = options.gain_e_per_adu;
    out.em_gain = em_gain_of(movies, options.em_gain);
    out.sensor_readvar_adu2 = typical_readvar(dark);
    out.dark_change = dark_change(dark_movie, dark);
    out.offset_adu.value = dark.mean, out.readvar_adu2.value = dark.variance;
    for (float v : dark.variance) {
        out.offset_adu.error.push_back(std::sqrt(v / float(dark.frames)));
        out.readvar_adu2.error.push_back(v * std::sqrt(2.0f / float(dark.frames - 1)));
    }
    std::vector<Level> levels;
    for (Movie* movie : light) levels.push_back(constant_level(*movie, dark, finished));
    for (Movie* movie : options.ramps)
        for (Level& level : ramp_levels(*movie, dark, finished)) levels.push_back(std::move(level));
    for (const Level& level : levels) out.saturated += std::count(level.saturated.begin(), level.saturated.end(), 1);
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
            "{} of {} pixels have the same count in all {} dark frames. Their read noise was therefore not measured "
            "and is 0 in the map: {}",
            still, variance.size(), c.dark_frames,
            median(c.offset_adu.value) == 0
                ? "that count is 0, as if the offset were below 0 and counts were cut off there. Set a higher "
                  "offset (baseline, black level) in the camera's software"
                : "are the frames copies of one frame, or not raw? If they are raw, the camera's noise is far below "
                  "one count, and only more frames can show it"));
    constexpr double max_dark_change = 0.1;
    if (const DarkChange& change = c.dark_change; change.share > max_dark_change)
        warnings.push_back(
            fmt::format("the offset changes over the dark frames, from {:.2f} ADU ({}) to {:.2f} ADU ({}), and by more "
                        "in some pixels. This adds {:.2g} % to the read variance: record dark frames at a steady "
                        "sensor temperature",
                        change.lowest_adu, change.lowest, change.highest_adu, change.highest, 100 * change.share));
    constexpr double max_drift = 0.01, max_spread = 0.25;
    for (const LightLevel& level : c.levels) {
        if (level.drift > max_drift)
            warnings.push_back(
                fmt::format("{}: its light changed slowly and differently in each pixel, like that of a lamp that "
                            "warms up. This adds {:.2g} % to the variance. The gain is not affected, since it comes "
                            "from differences of neighbouring frames. Steadier light makes it more precise",
                            level.name, 100 * level.drift));
        if (!level.of_ramp && level.light_spread > max_spread)
            warnings.push_back(fmt::format(
                "{}: its light varies by {:.2g} %. If it rises or falls on purpose, give the movie as a ramp (`ramp`)",
                level.name, 100 * level.light_spread));
    }
    constexpr double max_chi2 = 1.5;
    if (!c.chi2.empty() && c.mean_chi2 > max_chi2)
        warnings.push_back(fmt::format(
            "variances deviate from the line of variance over mean (reduced chi2 {:.2f}), so the gain's error is "
            "{:.3g} times as large. Is the brightest level saturated, or the camera's response not linear?",
            c.mean_chi2, c.error_factor));
    return warnings;
}

}  // namespace glint
