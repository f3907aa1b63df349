// Fits transfer curves by weighted least squares, pixel by pixel.
// SPDX-License-Identifier: MIT
#include "analysis/transfer_curve.hpp"

#include <algorithm>
#include <cmath>

#include "base/median.hpp"

namespace glint {
namespace {

constexpr double min_variance_adu2 = 1e-6;  // for pixels that never change, so that their weight is finite
constexpr double typical_weight = 10;       // of the typical read variance against a pixel's own, in frames

/// Fits variance against mean by weighted least squares (eq. 12.3). The weights are those of a typical pixel on the
/// line with `slope`. With weights from measured variances, points that are too low by chance would weigh more.
class LineFit {
  public:
    LineFit(const TransferCurve& curve, double slope)
        : curve_(curve),
          slope_(slope),
          typical_(std::max(curve.typical_readvar, min_variance_adu2)),
          misfits_(curve.levels.size() + 1) {}

    /// Fits the line of a pixel, without the levels that saturate it. The slope is NaN if no level remains.
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

    /// Adds the misfits of a pixel to those of the sensor, unless a level saturates it.
    void add_misfits(std::size_t k) {
        line_of(k);
        if (points_.size() < misfits_.size()) return;
        for (std::size_t j = 0; j < points_.size(); ++j) {
            const Point& p = points_[j];
            misfits_[j] += (p.y - start_ - slope_of_pixel_ * p.x) / std::sqrt(p.typical);
        }
        ++pixels_;
    }

    /// Returns the reduced chi-squared of the misfits that the added pixels share (eq. 12.8), or 0 if unknown.
    double common_chi2() const {
        const double freedom = double(misfits_.size()) - 2;
        if (freedom <= 0 || pixels_ == 0) return 0;
        double sum = 0;
        for (const double misfit : misfits_) sum += misfit * misfit / pixels_;
        return sum / freedom;
    }

  private:
    /// `typical` and `own` are squared errors of y: for a typical pixel and for this pixel.
    struct Point {
        double x, y, typical, own;
    };

    void read(std::size_t k) {
        points_.clear();
        const double freedom = curve_.dark.freedom, measured = curve_.dark.variance[k];
        const double own = (typical_weight * typical_ + freedom * measured) / (typical_weight + freedom);
        const auto add = [&](double x, double y, const LevelNoise& noise, const LightLevel& reported) {
            const double light = std::max(x, 0.0);
            const auto error2 = [&](double read) {
                const double variance = read + slope_ * light;
                const double squares = variance * variance + 2 * variance * std::pow(noise.light_spread * light, 2) +
                                       std::pow(slope_ * reported.light_spread * light, 2);
                const double skew = curve_.multiplied ? slope_ * slope_ * slope_ * light : 0;
                return 2 * squares / noise.freedom + (read * slope_ * slope_ + skew) / double(reported.frames);
            };
            points_.push_back({x, y, error2(typical_), error2(own)});
        };
        add(0, measured, curve_.dark, curve_.dark_told);
        for (const auto& [level, noise] : curve_.levels)
            if (!level.saturated[k]) add(level.mean[k], noise.variance[k], noise, level.reported);
    }

    const TransferCurve& curve_;
    double slope_, typical_, slope_of_pixel_ = 0, start_ = 0, pixels_ = 0;
    std::vector<Point> points_;
    std::vector<double> misfits_;  ///< of each point, in standard errors, summed over pixels
};

}  // namespace

double typical_readvar(const FrameStatistics& dark) {
    constexpr double min_freedom = 10;
    const double freedom = double(dark.frames - 1);
    const std::size_t pixels = dark.variance.size();
    const std::size_t group = std::min(pixels, std::size_t(std::ceil(min_freedom / freedom)));
    std::vector<double> means;
    for (std::size_t first = 0; first + group <= pixels; first += group) {
        double sum = 0;
        for (std::size_t k = first; k < first + group; ++k) sum += dark.variance[k];
        means.push_back(sum / double(group));
    }
    return median(std::move(means)) / std::pow(1 - 2 / (9 * freedom * double(group)), 3);
}

TransferCurve transfer_curve(const FrameStatistics& dark, const std::vector<Level>& levels, bool multiplied) {
    const bool by_steps = std::any_of(levels.begin(), levels.end(), [](const Level& level) { return level.by_steps; });
    TransferCurve curve{
        by_steps ? noise_of_steps(dark) : noise_of_all(dark), typical_readvar(dark), multiplied, {}, {}};
    curve.dark_told.frames = dark.frames;
    for (const Level& level : levels) curve.levels.push_back({level, by_steps ? level.of_steps : level.of_all});
    return curve;
}

std::vector<PixelLine> lines_of(const TransferCurve& curve, double slope) {
    LineFit fit(curve, slope);
    std::vector<PixelLine> lines(curve.dark.variance.size());
    for (std::size_t k = 0; k < lines.size(); ++k) lines[k] = fit.line_of(k);
    return lines;
}

double widening(const TransferCurve& curve, double slope, const std::vector<PixelFault>& faults) {
    LineFit fit(curve, slope);
    for (std::size_t k = 0; k < faults.size(); ++k)
        if (faults[k] == PixelFault::none) fit.add_misfits(k);
    const double freedom = double(curve.levels.size()) - 1, chi2 = fit.common_chi2();
    return freedom * (chi2 - 1) > 3 * std::sqrt(2 * freedom) ? std::sqrt(chi2) : 1;
}

}  // namespace glint
