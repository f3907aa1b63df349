// Calibrates an astigmatic curve from a stack of beads, or throws an error with the reason.
// SPDX-License-Identifier: MIT
#include "glint/calibrate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "analysis/astigmatic_lens.hpp"
#include "analysis/beads.hpp"
#include "base/median.hpp"
#include "base/micrometres.hpp"
#include "glint/error.hpp"
#include "glint/rois.hpp"
#include "psf/in_double.hpp"

namespace glint {
namespace {

constexpr std::int64_t min_slices = 5;
constexpr double default_sigma_px = 1.3;
constexpr double window_in_sigma = 11;      // edge of the fitted window; widths double out of focus
constexpr double model_error = 0.005;       // relative error of a width from the model
constexpr double max_start_bias_um = 0.06;  // of z, around the foci; above it, the curve is not astigmatic
constexpr double max_focus_distance = 0.5;  // of a focus beyond the range, in lengths of the range
constexpr int lobes_roi_size = 19;          // contains both lobes of a double helix
constexpr int lobes_distance = 12;          // px between lobes, or between their images in different slices

/// Returns the stage position in um.
double z_of_slice(double slice, double slices, const CalibrateOptions& options) {
    return (options.z_center_nm + (slice - 0.5 * (slices - 1)) * options.z_step_nm) / 1000;
}

template <class Property>
std::vector<double> collect(const std::vector<BeadShape>& shapes, Property property) {
    std::vector<double> values;
    for (const BeadShape& shape : shapes) values.push_back(property(shape));
    return values;
}

/// Returns the standard error of a median over beads. It is the larger of the fits' CRLB and the scatter of the beads,
/// plus the error of the model.
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

ShapesOverZ medians(const std::vector<std::vector<BeadShape>>& slices, std::size_t beads,
                    const CalibrateOptions& options) {
    const double px = options.pixel_size_nm / 1000;
    ShapesOverZ over_z;
    WidthsOverZ& widths = over_z.widths;
    for (std::size_t k = 0; k < slices.size(); ++k) {
        const auto& shapes = slices[k];
        if (shapes.empty() || 2 * shapes.size() < beads) continue;
        const auto x = collect(shapes, [](const BeadShape& s) { return s.sigma_x; });
        const auto y = collect(shapes, [](const BeadShape& s) { return s.sigma_y; });
        const auto x_unc = collect(shapes, [](const BeadShape& s) { return s.sigma_x_unc; });
        const auto y_unc = collect(shapes, [](const BeadShape& s) { return s.sigma_y_unc; });
        over_z.slice.push_back(k);
        widths.z.push_back(z_of_slice(double(k), double(slices.size()), options));
        widths.sigma_x.push_back(px * median(x));
        widths.sigma_y.push_back(px * median(y));
        widths.sigma_x_unc.push_back(px * median_error(x, x_unc));
        widths.sigma_y_unc.push_back(px * median_error(y, y_unc));
        over_z.along_axes.push_back(median(collect(shapes, [](const BeadShape& s) { return s.along_axes; })));
        over_z.along_diagonals.push_back(median(collect(shapes, [](const BeadShape& s) { return s.along_diagonals; })));
        over_z.peak.push_back(
            median(collect(shapes, [](const BeadShape& s) { return s.photons / (s.sigma_x * s.sigma_y); })));
    }
    return over_z;
}

int window_size(const CalibrateOptions& options, double sigma_px, const MovieInfo& info) {
    if (options.roi_size) return options.roi_size;
    const int wanted = 2 * int(std::ceil(0.5 * window_in_sigma * sigma_px)) - 1;
    return std::clamp(std::min({wanted, info.width, info.height}), min_roi_size, max_roi_size);
}

std::vector<double> all_in_nm(std::vector<double> um) {
    for (double& value : um) value *= 1000;
    return um;
}

void check(const CalibrateOptions& options, const MovieInfo& info) {
    check_pixel_size(options.pixel_size_nm);
    if (options.sigma_nm != 0 && !(options.sigma_nm >= min_width_nm && std::isfinite(options.sigma_nm)))
        throw OptionError(fmt::format("a PSF width of {} nm: give nanometres, at least {:g}, as in `sigma=130nm`",
                                      options.sigma_nm, min_width_nm));
    if (!std::isfinite(options.z_step_nm) || options.z_step_nm == 0)
        throw OptionError("the distance between slices must not be 0: give it, as in `z_step=20nm`");
    if (info.frames < min_slices)
        throw InputError(fmt::format("{}: {} slices are too few for a curve: give a stack of at least {}, better 20",
                                     info.name, info.frames, min_slices));
}

/// If no bead is isolated, the spots may be the lobes of a double helix.
void refuse_lobes_of_groups(Movie& stack, const Camera& camera, const Spots& spots, double sigma_px,
                            const CalibrateOptions& options) {
    const MovieInfo& info = stack.info();
    const int roi_size = std::min({lobes_roi_size, info.width, info.height});
    const Spots groups = centres_of_groups(spots, info, lobes_distance, roi_size);
    if (groups.count() == 0) return;
    const ShapesOverZ shapes =
        medians(measure_beads(stack, camera, groups, sigma_px, roi_size), groups.count(), options);
    if (std::int64_t(shapes.widths.z.size()) >= min_slices) refuse_double_helix(shapes, info.name);
}

void refuse_bad_curve(const UsableRange& range, const WidthsOverZ& widths, const std::string& name) {
    const CurveInUm& curve = range.fit.curve;
    if (!(range.max_bias_um <= max_start_bias_um))
        throw InputError(fmt::format(
            "{}: no astigmatic curve fits. Between the foci, from {:.3f} to {:.3f} um of the stage, the misfit of the "
            "widths shifts z by up to {:.0f} nm. Is `z_step` right, does the stage move evenly, and are the beads "
            "bright enough?",
            name, std::min(widths.z[range.first], widths.z[range.last]),
            std::max(widths.z[range.first], widths.z[range.last]), 1000 * range.max_bias_um));
    const double beyond = max_focus_distance * (curve.z_max_um - curve.z_min_um);
    for (double focus : {curve.gamma_um, -curve.gamma_um})
        if (!(focus >= curve.z_min_um - beyond && focus <= curve.z_max_um + beyond))
            throw InputError(fmt::format(
                "{}: the curve has a focus at {:.2f} um of the stage, far from the slices, which extend from {:.2f} to "
                "{:.2f} um: give a stack that contains the foci of x and y",
                name, focus + range.fit.z_middle_um, curve.z_min_um + range.fit.z_middle_um,
                curve.z_max_um + range.fit.z_middle_um));
}

}  // namespace

Calibration calibrate_astigmatism(Movie& stack, const Camera& camera, const CalibrateOptions& options) {
    const MovieInfo& info = stack.info();
    check(options, info);
    const double sigma_px =
        options.sigma_nm > 0 ? 1000 * um_of(options.sigma_nm) / options.pixel_size_nm : default_sigma_px;
    const int roi_size =
        make_rois(CameraView(camera, info.width, info.height), window_size(options, sigma_px, info)).size;
    const FoundBeads found = find_beads(stack, camera, sigma_px, roi_size);
    const Spots& beads = found.isolated;
    if (beads.count() == 0) {
        refuse_lobes_of_groups(stack, camera, found.all, sigma_px, options);
        throw InputError(
            fmt::format("{}: no isolated bead: {}. Use a sparser stack or a smaller `roi_size`, or check `sigma`, "
                        "`offset` and `gain`",
                        info.name, why_not_isolated(found.all, info, roi_size)));
    }
    const ShapesOverZ shapes = medians(measure_beads(stack, camera, beads, sigma_px, roi_size), beads.count(), options);
    const WidthsOverZ& widths = shapes.widths;
    if (std::int64_t(widths.z.size()) < min_slices)
        throw InputError(
            fmt::format("{}: {} beads could be measured in only {} of {} slices: use brighter beads, a larger "
                        "`roi_size`, or fewer slices out of focus",
                        info.name, beads.count(), widths.z.size(), info.frames));
    refuse_other_lenses(shapes, info.name);

    const InFocus in_focus = slices_in_focus(shapes);
    const double focused_px =
        std::sqrt(widths.sigma_x[in_focus.sharpest] * widths.sigma_y[in_focus.sharpest]) * 1000 / options.pixel_size_nm;
    const std::vector<double> detected = detected_at_centre(stack, camera, beads, focused_px, roi_size);
    std::vector<double> share;
    for (std::size_t slice : shapes.slice) share.push_back(detected[slice]);
    const UsableRange range = find_usable_range(widths, in_focus, share);
    refuse_bad_curve(range, widths, info.name);
    AstigmaticFit fitted = range.fit;
    fitted.curve.roi_size = roi_size, fitted.curve.pixel_size_um = um_of(options.pixel_size_nm);
    std::vector<double> z = widths.z;
    for (double& each : z) each -= fitted.z_middle_um;
    Calibration result{.curve = in_nm(fitted.curve),
                       .z_nm = all_in_nm(z),
                       .sigma_x_nm = all_in_nm(widths.sigma_x),
                       .sigma_y_nm = all_in_nm(widths.sigma_y),
                       .sigma_x_unc_nm = all_in_nm(widths.sigma_x_unc),
                       .sigma_y_unc_nm = all_in_nm(widths.sigma_y_unc),
                       .beads = int(beads.count())};
    const double slices = double(info.frames);
    const double bottom = z_of_slice(0, slices, options), top = z_of_slice(slices - 1, slices, options);
    result.z_middle_nm = um_to_nm(fitted.z_middle_um);
    result.rms_residual_nm = um_to_nm(fitted.rms_residual_um);
    result.max_z_bias_nm = um_to_nm(range.max_bias_um);
    result.rms_z_bias_nm = um_to_nm(range.rms_bias_um);
    result.stack_z_min_nm = um_to_nm(std::min(bottom, top) - fitted.z_middle_um);
    result.stack_z_max_nm = um_to_nm(std::max(bottom, top) - fitted.z_middle_um);
    const auto end_at = [&](std::size_t at, bool down) {
        const bool is_last = down ? at == 0 : at + 1 == shapes.slice.size();
        if (!is_last) return down ? range.first_end : range.last_end;
        const std::size_t end = down ? 0 : std::size_t(info.frames) - 1;
        return shapes.slice[at] == end ? RangeEnd::stack : RangeEnd::unmeasured;
    };
    result.range_below = end_at(range.first, true), result.range_above = end_at(range.last, false);
    if (options.z_step_nm < 0) std::swap(result.range_below, result.range_above);
    return result;
}

std::string range_note(const Calibration& c) {
    const auto reason = [](RangeEnd end) -> std::string {
        switch (end) {
            case RangeEnd::stack: return "";
            case RangeEnd::misfit:
                return fmt::format("the misfit of the curve shifts z by more than {:.0f} nm", 1000 * max_z_bias_um);
            case RangeEnd::detection: return "spots split, or are too wide or dim to be detected at their centre";
            case RangeEnd::unmeasured: return "fewer than half of the beads could be measured";
        }
        return "";
    };
    const std::string below = reason(c.range_below), above = reason(c.range_above);
    if (below.empty() && above.empty()) return "";
    std::string text = fmt::format("the stack extends from {:.3f} to {:.3f} um", nm_to_um(c.stack_z_min_nm),
                                   nm_to_um(c.stack_z_max_nm));
    if (below == above) return text + ": beyond the range, " + below;
    if (!below.empty()) text += ": below the range, " + below;
    if (!above.empty()) text += std::string(below.empty() ? ": " : "; ") + "above the range, " + above;
    return text;
}

std::string misfit_warning(const Calibration& c) {
    constexpr double too_much = 1.5;  // the bound does not include the errors of the widths
    if (nm_to_um(c.max_z_bias_nm) <= too_much * max_z_bias_um) return "";
    return fmt::format(
        "the misfit of the curve shifts z by up to {:.0f} nm ({:.0f} nm rms): the beads are too dim, or their images "
        "are not Gaussian. Use brighter or more beads, or try another `roi_size`",
        c.max_z_bias_nm, c.rms_z_bias_nm);
}

std::string depth_warning(const AstigmaticCurve& curve_in_nm) {
    const CurveInUm curve = in_um(curve_in_nm);
    // Water and orange light. Other samples differ by less than a factor of two.
    constexpr double index_per_um = 1.33 / 0.6, most = 3;
    const double expected_um = 4 * std::numbers::pi * index_per_um * curve.sx0_um * curve.sy0_um;
    const double times = curve.d_um / expected_um;
    if (times < most && times > 1 / most) return "";
    return fmt::format(
        "the depth of focus is {:.3g} um. Light focused to widths of {:.3g} and {:.3g} um has a depth of about {:.2g} "
        "um, {}. Are the step between slices (`z_step`) and the pixel size right?",
        curve.d_um, curve.sx0_um, curve.sy0_um, expected_um,
        times > 1 ? fmt::format("{:.2g} times less", times) : fmt::format("{:.2g} times more", 1 / times));
}

}  // namespace glint
