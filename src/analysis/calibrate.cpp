// From a stack of beads to the astigmatic curve, or to an error that says why z cannot be calibrated.
// SPDX-License-Identifier: MIT
#include "glint/calibrate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "analysis/astigmatic_fit.hpp"
#include "analysis/beads.hpp"
#include "base/median.hpp"
#include "glint/error.hpp"
#include "glint/rois.hpp"

namespace glint {
namespace {

constexpr std::int64_t least_slices = 5;
constexpr double default_sigma_px = 1.3;
constexpr double window_in_sigma = 11;     // edge of the fitted window: out of focus, widths double
constexpr double least_elongation = 1.15;  // minimum ratio of widths that determines the axes
constexpr double most_tilt_degrees = 15;   // reduces the elongation by a seventh
constexpr double least_crossing = 1.08;    // minimum ratio of widths at either end of the stack
constexpr double model_error = 0.005;      // relative error of a width by the model
constexpr double most_residual = 0.15;     // rms over mean width

template <class Property>
std::vector<double> collect(const std::vector<BeadShape>& shapes, Property property) {
    std::vector<double> values;
    for (const BeadShape& shape : shapes) values.push_back(property(shape));
    return values;
}

/// Standard error of a median over beads: from the fits' CRLB or the beads' scatter, whichever is larger, plus the
/// model's error.
double median_error(const std::vector<double>& values, const std::vector<double>& errors) {
    const double n = double(values.size()), centre = median(values);
    double error = median(errors) * (n > 1 ? std::sqrt(std::numbers::pi / 2 / n) : 1);
    if (n >= 3) {
        std::vector<double> distances;
        for (double value : values) distances.push_back(std::abs(value - centre));
        error = std::max(error, 1.4826 * median(distances) * std::sqrt(std::numbers::pi / 2 / n));
    }
    return std::hypot(error, model_error * centre);
}

double ratio_of(double elongation) {
    const double e = std::min(std::abs(elongation), 0.99);
    return std::sqrt((1 + e) / (1 - e));
}

/// The lens's axes, from all beads and slices: the points (along_axes, along_diagonals) lie on a line through the
/// origin at twice the tilt (section 9).
struct Tilt {
    double degrees = 0;
    double best_ratio = 1, xy_ratio = 1;  ///< maximum ratios of widths over the slices
};

Tilt tilt_of(const std::vector<std::vector<BeadShape>>& slices) {
    double aa = 0, ad = 0, dd = 0;
    for (const auto& shapes : slices)
        for (const BeadShape& s : shapes) {
            aa += s.along_axes * s.along_axes;
            ad += s.along_axes * s.along_diagonals;
            dd += s.along_diagonals * s.along_diagonals;
        }
    const double twice = 0.5 * std::atan2(2 * ad, aa - dd);
    Tilt tilt{90 * twice / std::numbers::pi, 1, 1};
    for (const auto& shapes : slices) {
        if (shapes.empty()) continue;
        const auto best = collect(shapes, [&](const BeadShape& s) {
            return s.along_axes * std::cos(twice) + s.along_diagonals * std::sin(twice);
        });
        tilt.best_ratio = std::max(tilt.best_ratio, ratio_of(median(best)));
        tilt.xy_ratio =
            std::max(tilt.xy_ratio, ratio_of(median(collect(shapes, [](const BeadShape& s) { return s.along_axes; }))));
    }
    return tilt;
}

void refuse_tilt(const Tilt& tilt, const std::string& name) {
    if (tilt.best_ratio < least_elongation || std::abs(tilt.degrees) <= most_tilt_degrees) return;
    const double one = tilt.degrees < 0 ? tilt.degrees + 90 : tilt.degrees;
    throw InputError(
        fmt::format("{}: the lens's axes are tilted by {:.0f} degrees against the pixels (the other axis by {:.0f}): "
                    "widths differ by "
                    "up to {:.2f} times along those axes, {:.2f} times along x and y. Turn the cylindrical lens or the "
                    "camera until "
                    "the beads stretch along rows and columns; as it is, fit in 2D with --psf GaussianXYNBS",
                    name, one, one - 90, tilt.best_ratio, tilt.xy_ratio));
}

void refuse_no_crossing(const WidthsOverZ& widths, const std::string& name) {
    double low = 1e9, high = 0;
    for (std::size_t k = 0; k + 2 < widths.z.size();
         ++k) {  // three slices in a row, so that a single one has no effect
        std::vector<double> ratios;
        for (std::size_t i = k; i < k + 3; ++i) ratios.push_back(widths.sigma_x[i] / widths.sigma_y[i]);
        low = std::min(low, median(ratios)), high = std::max(high, median(ratios));
    }
    if (low < 1 / least_crossing && high > least_crossing) return;
    throw InputError(
        fmt::format("{}: the widths do not cross: sigma x over sigma y runs from {:.2f} to {:.2f}, and must go from "
                    "below {:.2f} to "
                    "above {:.2f}. Is the cylindrical lens in, and does the stack reach both sides of the focus?",
                    name, low, high, 1 / least_crossing, least_crossing));
}

WidthsOverZ medians(const std::vector<std::vector<BeadShape>>& slices, std::size_t beads,
                    const CalibrateOptions& options) {
    const double px = options.pixel_size_nm / 1000;
    WidthsOverZ widths;
    for (std::size_t k = 0; k < slices.size(); ++k) {
        const auto& shapes = slices[k];
        if (shapes.empty() || 2 * shapes.size() < beads) continue;
        const auto x = collect(shapes, [](const BeadShape& s) { return s.sigma_x; });
        const auto y = collect(shapes, [](const BeadShape& s) { return s.sigma_y; });
        const auto x_unc = collect(shapes, [](const BeadShape& s) { return s.sigma_x_unc; });
        const auto y_unc = collect(shapes, [](const BeadShape& s) { return s.sigma_y_unc; });
        const double slice = double(k) - 0.5 * double(slices.size() - 1);
        widths.z.push_back((options.z_center_nm + slice * options.z_step_nm) / 1000);
        widths.sigma_x.push_back(px * median(x));
        widths.sigma_y.push_back(px * median(y));
        widths.sigma_x_unc.push_back(px * median_error(x, x_unc));
        widths.sigma_y_unc.push_back(px * median_error(y, y_unc));
    }
    return widths;
}

int window_size(const CalibrateOptions& options, double sigma_px, const MovieInfo& info) {
    if (options.roi_size) return options.roi_size;
    const int wanted = 2 * int(std::ceil(0.5 * window_in_sigma * sigma_px)) - 1;
    return std::clamp(std::min({wanted, info.width, info.height}), min_roi_size, max_roi_size);
}

void check(const CalibrateOptions& options, const MovieInfo& info) {
    if (!(options.pixel_size_nm > 0 && std::isfinite(options.pixel_size_nm)))
        throw OptionError("the pixel size must be greater than 0: --pixel-size 100nm");
    if (!std::isfinite(options.z_step_nm) || options.z_step_nm == 0)
        throw OptionError("the distance of two slices must not be 0: --z-step 20nm");
    if (info.frames < least_slices)
        throw InputError(fmt::format("{}: {} slices are too few for a curve: give a stack of at least {}, better 20",
                                     info.name, info.frames, least_slices));
}

}  // namespace

Calibration calibrate_astigmatism(Movie& stack, const Camera& camera, const CalibrateOptions& options) {
    const MovieInfo& info = stack.info();
    check(options, info);
    const double sigma_px = options.sigma_um > 0 ? 1000 * options.sigma_um / options.pixel_size_nm : default_sigma_px;
    const int roi_size =
        make_rois(CameraView(camera, info.width, info.height), window_size(options, sigma_px, info)).size;
    const Spots beads = find_beads(stack, camera, sigma_px, roi_size);
    const auto slices = measure_beads(stack, camera, beads, sigma_px, roi_size);
    const WidthsOverZ widths = medians(slices, beads.count(), options);
    if (std::int64_t(widths.z.size()) < least_slices)
        throw InputError(
            fmt::format("{}: {} beads could be measured in {} of {} slices only; use brighter beads, a "
                        "larger --roi, or fewer slices out of focus",
                        info.name, beads.count(), widths.z.size(), info.frames));
    refuse_tilt(tilt_of(slices), info.name);
    refuse_no_crossing(widths, info.name);

    const AstigmaticFit fitted = fit_astigmatic_curve(widths);
    const double mean_width = 0.5 * (fitted.curve.sx0_um + fitted.curve.sy0_um);
    if (!(fitted.rms_residual_um < most_residual * mean_width))
        throw InputError(
            fmt::format("{}: no astigmatic curve fits: the widths miss it by {:.3f} um rms, at a width of "
                        "{:.3f} um in focus; is --z-step right, and does the stage move evenly?",
                        info.name, fitted.rms_residual_um, mean_width));
    Calibration result{fitted.curve,       fitted.z_middle_um, widths.z,
                       widths.sigma_x,     widths.sigma_y,     widths.sigma_x_unc,
                       widths.sigma_y_unc, int(beads.count()), fitted.rms_residual_um};
    for (double& z : result.z_um) z -= fitted.z_middle_um;
    result.curve.roi_size = roi_size, result.curve.pixel_size_um = options.pixel_size_nm / 1000;
    return result;
}

std::string depth_warning(const AstigmaticCurve& curve) {
    constexpr double index_per_um = 1.33 / 0.6,
                     most = 3;  // water and orange light; other samples differ by less than two
    const double expected_um = 4 * std::numbers::pi * index_per_um * curve.sx0_um * curve.sy0_um;
    const double times = curve.d_um / expected_um;
    if (times < most && times > 1 / most) return "";
    return fmt::format(
        "the depth of focus is {:.3g} um, and light focused to widths of {:.3g} and {:.3g} um has about {:.2g} um, {}: "
        "are the step between "
        "slices (--z-step) and the pixel size right?",
        curve.d_um, curve.sx0_um, curve.sy0_um, expected_um,
        times > 1 ? fmt::format("{:.2g} times less", times) : fmt::format("{:.2g} times more", 1 / times));
}

}  // namespace glint
