// From dark movies and levels of light to the maps of a camera (docs/theory.md, section 12).
// SPDX-License-Identifier: MIT
#include "glint/calibrate_camera.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/dark_changes.hpp"
#include "analysis/light_levels.hpp"
#include "analysis/pixel_faults.hpp"
#include "base/median.hpp"
#include "glint/error.hpp"

namespace glint {
namespace {

constexpr double least_variance_adu2 = 1e-6;  // of pixels that never change, so that their weight is finite
constexpr double typical_weight = 10;         // of the typical read variance beside a pixel's own, frames
constexpr double significant = 5;             // standard errors
constexpr double most_gain_error = 0.1;       // relative, of a pixel that keeps its own

/// A level with the estimate of the variance that all levels share.
struct MeasuredLevel {
    const Level& level;
    const LevelNoise& noise;
};

/// Variance against mean: the dark frames and the levels, by one estimate of the variance.
struct TransferCurve {
    LevelNoise dark;
    double typical_readvar = 0;  ///< ADU^2
    bool multiplied = false;     ///< by an EM register
    LightLevel dark_told;
    std::vector<MeasuredLevel> levels;
};

/// The read variance of a typical pixel (eq. 12.7): of few frames, by groups of pixels, whose means are finer than whole counts.
double typical_readvar(const FrameStatistics& dark) {
    constexpr double least_freedom = 10;
    const double freedom = double(dark.frames - 1);
    const std::size_t pixels = dark.variance.size();
    const std::size_t group = std::min(pixels, std::size_t(std::ceil(least_freedom / freedom)));
    std::vector<double> means;
    for (std::size_t first = 0; first + group <= pixels; first += group) {
        double sum = 0;
        for (std::size_t k = first; k < first + group; ++k) sum += dark.variance[k];
        means.push_back(sum / double(group));
    }
    return median(std::move(means)) / std::pow(1 - 2 / (9 * freedom * double(group)), 3);
}

/// By differences of neighbouring frames, if one level needs them; else by all frames, whose error is less.
TransferCurve transfer_curve(const FrameStatistics& dark, const std::vector<Level>& levels, bool multiplied) {
    const bool by_steps = std::any_of(levels.begin(), levels.end(), [](const Level& level) { return level.by_steps; });
    TransferCurve curve{
        by_steps ? noise_of_steps(dark) : noise_of_all(dark), typical_readvar(dark), multiplied, {}, {}};
    curve.dark_told.frames = dark.frames;
    for (const Level& level : levels) curve.levels.push_back({level, by_steps ? level.of_steps : level.of_all});
    return curve;
}

/// Weighted least squares of variance against mean (eq. 12.3), with weights that are those of a typical pixel on the line with
/// `slope`: by measured variances, points that are too low by chance would have more weight.
class LineFit {
  public:
    LineFit(const TransferCurve& curve, double slope)
        : curve_(curve),
          slope_(slope),
          typical_(std::max(curve.typical_readvar, least_variance_adu2)),
          misfits_(curve.levels.size() + 1) {}

    /// Without the levels that saturate the pixel; without any other, the slope is NaN.
    PixelLine line_of(std::size_t k) {
        read(k);
        if (points_.size() < 2) return {NAN, INFINITY, INFINITY, 0};
        double s = 0, sx = 0, sy = 0, sxx = 0, sxy = 0;
        for (const Point& p : points_) {
            const double w = 1 / p.typical;
            s += w, sx += w * p.x, sy += w * p.y, sxx += w * p.x * p.x, sxy += w * p.x * p.y;
        }
        const double determinant = s * sxx - sx * sx;
        slope_of_pixel_ = (s * sxy - sx * sy) / determinant, start_ = (sy - slope_of_pixel_ * sx) / s;
        double error2 = 0, misfit = 0;
        for (const Point& p : points_) {
            error2 += std::pow((s * p.x - sx) / (determinant * p.typical), 2) * p.own;
            misfit += std::pow(p.y - start_ - slope_of_pixel_ * p.x, 2) / p.own;
        }
        const double freedom = double(points_.size()) - 2;
        return {slope_of_pixel_, std::sqrt(error2), std::sqrt(s / determinant), freedom > 0 ? misfit / freedom : 0};
    }

    /// Adds the misfits of a pixel that no level saturates to those of the sensor.
    void add_misfits(std::size_t k) {
        line_of(k);
        if (points_.size() < misfits_.size()) return;
        for (std::size_t j = 0; j < points_.size(); ++j) {
            const Point& p = points_[j];
            misfits_[j] += (p.y - start_ - slope_of_pixel_ * p.x) / std::sqrt(p.typical);
        }
        ++pixels_;
    }

    /// Reduced chi-squared of the misfits that the pixels added have in common (eq. 12.8); 0: unknown.
    double common_chi2() const {
        const double freedom = double(misfits_.size()) - 2;
        if (freedom <= 0 || pixels_ == 0) return 0;
        double sum = 0;
        for (const double misfit : misfits_) sum += misfit * misfit / pixels_;
        return sum / freedom;
    }

  private:
    /// `typical`, `own`: square errors of y, of a typical pixel and of this one.
    struct Point {
        double x, y, typical, own;
    };

    void read(std::size_t k) {
        points_.clear();
        const double freedom = curve_.dark.freedom, measured = curve_.dark.variance[k];
        const double own = (typical_weight * typical_ + freedom * measured) / (typical_weight + freedom);
        const auto add = [&](double x, double y, const LevelNoise& noise, const LightLevel& told) {
            const double light = std::max(x, 0.0);
            const auto error2 = [&](double read) {
                const double variance = read + slope_ * light;
                const double squares = variance * variance + 2 * variance * std::pow(noise.light_spread * light, 2) +
                                       std::pow(slope_ * told.light_spread * light, 2);
                const double skew = curve_.multiplied ? slope_ * slope_ * slope_ * light : 0;
                return 2 * squares / noise.freedom + (read * slope_ * slope_ + skew) / double(told.frames);
            };
            points_.push_back({x, y, error2(typical_), error2(own)});
        };
        add(0, measured, curve_.dark, curve_.dark_told);
        for (const auto& [level, noise] : curve_.levels)
            if (!level.saturated[k]) add(level.mean[k], noise.variance[k], noise, level.told);
    }

    const TransferCurve& curve_;
    double slope_, typical_, slope_of_pixel_ = 0, start_ = 0, pixels_ = 0;
    std::vector<Point> points_;
    std::vector<double> misfits_;  ///< of each point, in standard errors, summed over pixels
};

std::vector<PixelLine> lines_of(const TransferCurve& curve, double slope) {
    LineFit fit(curve, slope);
    std::vector<PixelLine> lines(curve.dark.variance.size());
    for (std::size_t k = 0; k < lines.size(); ++k) lines[k] = fit.line_of(k);
    return lines;
}

/// By which factor misfits that the good pixels have in common make the error of the sensor's slope larger; 1: they are chance.
double widening(const TransferCurve& curve, double slope, const std::vector<PixelFault>& faults) {
    LineFit fit(curve, slope);
    for (std::size_t k = 0; k < faults.size(); ++k)
        if (faults[k] == PixelFault::none) fit.add_misfits(k);
    const double freedom = double(curve.levels.size()) - 1, chi2 = fit.common_chi2();
    return freedom * (chi2 - 1) > 3 * std::sqrt(2 * freedom) ? std::sqrt(chi2) : 1;
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
        const bool own = good && line.error <= most_gain_error * line.slope &&
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

/// Pixels for a picture: as many of a kind, evenly over the sensor.
void take_sample(const TransferCurve& curve, CameraCalibration& out) {
    constexpr std::size_t most_of_a_kind = 1000;
    for (const bool good : {true, false}) {
        std::vector<std::int64_t> all;
        for (std::size_t k = 0; k < out.faults.size(); ++k)
            if ((out.faults[k] == PixelFault::none) == good) all.push_back(std::int64_t(k));
        const std::size_t taken = std::min(all.size(), most_of_a_kind);
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
        out.levels.push_back(level.told);
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
    const LightResponse response{lines, slope, most.mean, double(most.told.frames)};
    find_faults(dark, &response, out);
    out.error_factor = widening(curve, slope, out.faults);
    take_gains(lines, combine(lines, out.faults, slope), out);
    if (out.error_factor > 1 && !(out.sensor_gain_error <= most_gain_error * out.sensor_gain))
        throw InputError(fmt::format(
            "{}: the variances of the levels miss the line of variance over mean by {:.0f} of their standard errors, "
            "and "
            "the gain is known to {:.2g} % only: {:.4g} +- {:.2g} e-/ADU. Leave out the brightest level, which may be "
            "saturated, and those that are not of this camera and its settings",
            brightest->name, out.error_factor, 100 * out.sensor_gain_error / out.sensor_gain, out.sensor_gain,
            out.sensor_gain_error));
    take_sample(curve, out);
}

/// As given, else as those of the movies' metadata that say it, else 1.
double em_gain_of(const std::vector<const Movie*>& movies, double given) {
    if (given > 0) return given;
    const MovieInfo* said = nullptr;
    for (const Movie* movie : movies) {
        const MovieInfo& info = movie->info();
        if (!info.em_gain) continue;
        if (said && *said->em_gain != *info.em_gain)
            throw InputError(
                fmt::format("{}: its metadata say an EM gain of {:g}, and those of {} {:g}: calibrate with movies of "
                            "one EM gain, or "
                            "give it (--em-gain), where the metadata are wrong",
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
            "{} of {} pixels have the same count in all {} dark frames, so that no read noise was measured, and it "
            "stands as 0: {}",
            still, variance.size(), c.dark_frames,
            median(c.offset_adu.value) == 0
                ? "that count is 0, as where the offset lies below 0 and counts are cut off there: set a higher offset "
                  "(baseline, black level) in the camera's software"
                : "are they copies of one frame, or not raw? If they are raw, the camera's noise is far less than a "
                  "count, and only "
                  "more frames show it"));
    constexpr double most_dark_change = 0.1;
    if (const DarkChange& change = c.dark_change; change.share > most_dark_change)
        warnings.push_back(
            fmt::format("the offset changes over the dark frames, from {:.2f} ADU ({}) to {:.2f} ADU ({}), or in some "
                        "pixels more, which "
                        "adds {:.2g} % to the read variance: take dark frames when the sensor's temperature is steady",
                        change.lowest_adu, change.lowest, change.highest_adu, change.highest, 100 * change.share));
    constexpr double most_drift = 0.01, most_spread = 0.25;
    for (const LightLevel& level : c.levels) {
        if (level.drift > most_drift)
            warnings.push_back(
                fmt::format("{}: its light changed slowly, and not alike in all pixels, as that of a lamp that warms "
                            "up, which adds {:.2g} % to the variance. The gain is without it, from differences of "
                            "neighbouring frames; steadier light makes it more precise",
                            level.name, 100 * level.drift));
        if (!level.of_ramp && level.light_spread > most_spread)
            warnings.push_back(fmt::format(
                "{}: its light varies by {:.2g} %: if it rises or falls on purpose, give the movie as a ramp (--ramp)",
                level.name, 100 * level.light_spread));
    }
    constexpr double most_chi2 = 1.5;
    if (!c.chi2.empty() && c.mean_chi2 > most_chi2)
        warnings.push_back(fmt::format(
            "variances miss the line of variance over mean (reduced chi2 {:.2f}), for which the gain's "
            "error is {:.3g} times as large: is the brightest level saturated, or the camera's response not linear?",
            c.mean_chi2, c.error_factor));
    return warnings;
}

}  // namespace glint
