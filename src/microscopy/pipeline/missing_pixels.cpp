// Fits first with missing pixels masked, then again without them.
// SPDX-License-Identifier: MIT
#include "pipeline/missing_pixels.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <vector>

#include "base/median.hpp"
#include "fit/joint/roi_emitters.hpp"
#include "pipeline/found_spots.hpp"

namespace glint {
namespace {

/// Returns the values of one window; empty if the plane is empty.
std::span<const float> plane_of(const Rois& rois, const std::vector<float>& plane, std::size_t window) {
    const std::size_t area = std::size_t(rois.size) * std::size_t(rois.size);
    return plane.empty() ? std::span<const float>() : std::span(plane).subspan(window * area, area);
}

std::vector<std::size_t> windows_with_missing(const Rois& rois, const Fits& fits) {
    std::vector<std::size_t> windows;
    for (std::size_t k = 0; k < fits.count(); ++k) {
        if (fits.status[k] != FitStatus::bad_input) continue;
        const std::span<const float> pixels = plane_of(rois, rois.pixels, k);
        if (std::any_of(pixels.begin(), pixels.end(), [](float e) { return std::isnan(e); })) windows.push_back(k);
    }
    return windows;
}

/// Appends a window in which missing pixels have the variance of a masked pixel. Their photoelectrons are `missing_e`,
/// or the median of the other pixels if it is empty.
void append_masked(const Rois& rois, std::size_t window, std::optional<float> missing_e, Rois& to) {
    const auto copy = [&](const std::vector<float>& from, std::vector<float>& into) {
        const std::span<const float> plane = plane_of(rois, from, window);
        into.insert(into.end(), plane.begin(), plane.end());
    };
    const std::span<const float> pixels = plane_of(rois, rois.pixels, window);
    std::vector<float> known;
    for (const float e : pixels)
        if (!std::isnan(e)) known.push_back(e);
    const float middle = missing_e.value_or(known.empty() ? 0 : float(median(std::move(known))));
    copy(rois.variance, to.variance), copy(rois.additive, to.additive), copy(rois.qe, to.qe);
    if (rois.variance.empty()) to.variance.insert(to.variance.end(), pixels.size(), rois.variance_scalar);
    const std::size_t first = to.pixels.size();
    for (std::size_t p = 0; p < pixels.size(); ++p) {
        const bool is_missing = std::isnan(pixels[p]);
        to.pixels.push_back(is_missing ? middle : pixels[p]);
        if (is_missing) to.variance[first + p] = masked_variance_e2;
    }
    if (!rois.x_corner.empty())
        to.x_corner.push_back(rois.x_corner[window]), to.y_corner.push_back(rois.y_corner[window]);
    if (rois.x_start.empty()) return;
    to.x_start.push_back(rois.x_start[window]), to.y_start.push_back(rois.y_start[window]);
}

JointPixels pixels_without_missing(const Rois& rois, std::size_t window) {
    const auto of = [&](const std::vector<float>& plane) {
        const std::span<const float> part = plane_of(rois, plane, window);
        return part.empty() ? nullptr : part.data();
    };
    JointPixels pixels({0, 0, rois.size, rois.size});
    if (!rois.x_corner.empty()) pixels.place_x_px += rois.x_corner[window], pixels.place_y_px += rois.y_corner[window];
    pixels.add({rois.size, of(rois.pixels), of(rois.variance), of(rois.additive), of(rois.qe), rois.variance_scalar,
                rois.qe_scalar, rois.excess_noise});
    return pixels;
}

/// Fits row `row` of `from` again.
JointFit fit_again(const Fits& from, std::size_t row, const JointPixels& pixels, JointFitter& fitter) {
    Emitter emitter;
    for (int k = 0; k < parameter_count(from.model); ++k)
        emitter.theta[std::size_t(k)] = double(from.theta[std::size_t(k)][row]);
    JointFit fit;
    fit.emitters = {emitter}, fit.bg = emitter.theta[3];
    fitter.fit(pixels, fit);
    return fit;
}

void write_row(const JointFit& from, FitStatus status, Fits& to, std::size_t row) {
    for (int k = 0; k < parameter_count(to.model); ++k) {
        to.theta[std::size_t(k)][row] = float(from.emitters[0].theta[std::size_t(k)]);
        to.crlb[std::size_t(k)][row] =
            status == FitStatus::singular ? 0.0f : float(from.emitters[0].crlb[std::size_t(k)]);
    }
    to.log_likelihood_ratio[row] = float(-from.half_deviance), to.p_value[row] = float(from.p_value);
    to.iterations[row] = std::uint8_t(std::min(from.iterations, 255)), to.status[row] = status;
}

}  // namespace

void fit_with_missing(const LocalizeJob& job, Fitter& fitter, const Rois& rois, Fits& fits,
                      std::span<const std::uint32_t> saturated) {
    const std::vector<std::size_t> windows = windows_with_missing(rois, fits);
    if (windows.empty()) return;
    Rois masked = make_rois(job.camera, rois.size);
    for (const std::size_t k : windows) {
        const bool is_saturated = !saturated.empty() && saturated[k] > 0;
        append_masked(rois, k, is_saturated ? std::optional(job.saturated_e) : std::nullopt, masked);
    }
    FitInfo unused;
    const Fits starts = fit_on_this_thread(job, fitter, masked, unused);
    JointFitter joint(job.options.psf, job.options.pixel_size_nm,
                      joint_options(job.options.fit, rois.size, job.camera.excess_noise()));
    for (std::size_t row = 0; row < windows.size(); ++row) {
        if (!has_position(starts.status[row])) {
            fits.status[windows[row]] = starts.status[row];
            continue;
        }
        const JointFit fit = fit_again(starts, row, pixels_without_missing(rois, windows[row]), joint);
        write_row(fit, status_of(fit, 0, rois.size), fits, windows[row]);
    }
}

}  // namespace glint
