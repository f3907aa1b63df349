// Argument checks and conversions that precede every fit.
// SPDX-License-Identifier: MIT
#include "fit/fit_setup.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "glint/environment.hpp"
#include "glint/error.hpp"
#include "psf/in_double.hpp"

namespace glint {
namespace {

/// Checks the camera, which provides the noise. A camera with maps needs the corners of the ROIs.
template <class Require>
void check_camera(const RoiView& rois, const Require& require) {
    require(rois.variance.empty() && rois.qe.empty(),
            "variances and quantum efficiencies come from the camera: give either");
    require(rois.camera->uniform() || (rois.camera->width() >= rois.size && rois.camera->height() >= rois.size),
            fmt::format("the camera's {} x {} px are less than a ROI of {}", rois.camera->width(),
                        rois.camera->height(), rois.size));
    require(rois.camera->uniform() || (rois.x_corner.size() == rois.count && rois.y_corner.size() == rois.count),
            fmt::format("{} and {} corners for {} ROIs: a camera with maps needs to know where each was cut",
                        rois.x_corner.size(), rois.y_corner.size(), rois.count));
}

}  // namespace

bool compares_backends(const Placement& placement) {
    return environment::backend(placement.backend) == Backend::automatic && !placement.always_gpu;
}

void check_corners(const RoiView& rois, std::int64_t first, std::int64_t count) {
    if (!rois.camera || rois.camera->uniform()) return;
    const CameraView& camera = *rois.camera;
    const unsigned x_end = unsigned(camera.width() - rois.size), y_end = unsigned(camera.height() - rois.size);
    const auto outside = [&](std::int64_t k) {
        return unsigned(rois.x_corner[std::size_t(k)]) > x_end || unsigned(rois.y_corner[std::size_t(k)]) > y_end;
    };
    const std::int64_t end = first + count;
    while (first < end && !outside(first)) ++first;
    if (first == end) return;
    throw OptionError(fmt::format("ROI {} of {} px at ({}, {}) is not inside the camera's {} x {} px", first, rois.size,
                                  rois.x_corner[std::size_t(first)], rois.y_corner[std::size_t(first)], camera.width(),
                                  camera.height()));
}

void check(const RoiView& rois, const Psf& psf, double pixel_size_nm, const FitOptions& options) {
    const auto require = [](bool good, const std::string& message) {
        if (!good) throw OptionError(message);
    };
    require(rois.size >= min_roi_size && rois.size <= max_roi_size,
            fmt::format("a ROI of {} pixels cannot be fitted: give an edge of {} to {} pixels", rois.size, min_roi_size,
                        max_roi_size));
    if (const int covered = covered_window_px(psf); covered > 0)
        require(rois.size <= covered, fmt::format("a ROI of {} px is larger than the measured PSF, which covers {} px: "
                                                  "give `roi_size={}`, or measure the PSF in a larger window",
                                                  rois.size, covered, covered - 1 + covered % 2));
    const std::size_t pixels = rois.count * rois.size * rois.size;
    const auto fits = [&](std::size_t n, std::size_t of, const char* what, const char* per) {
        require(n == 0 || n == of, fmt::format("{} {} for {} {}", n, what, of, per));
    };
    fits(rois.variance.size(), pixels, "variances", "pixels");
    fits(rois.additive.size(), pixels, "additive values", "pixels");
    fits(rois.qe.size(), pixels, "quantum efficiencies", "pixels");
    require(rois.qe.empty() || !rois.variance.empty() || pixels == 0,
            "a quantum efficiency of each pixel needs its read variance too (0 for pixels without one)");
    fits(rois.x_start.size(), rois.count, "start positions", "ROIs");
    fits(rois.y_start.size(), rois.x_start.size(), "start positions along y", "along x");
    require(rois.x_start.size() == rois.y_start.size(), "start positions need both x and y");
    require(rois.variance_scalar >= 0 && rois.variance_scalar < 1e9f, "the read variance must be 0 or more");
    require(rois.excess_noise >= 1 && rois.excess_noise <= 4, "the excess noise factor F^2 is 1 to 4");
    require(rois.qe_scalar >= 1e-3f && rois.qe_scalar <= 1e3f,
            "the relative quantum efficiency is 0.001 to 1000, and near 1");
    check_pixel_size(pixel_size_nm);
    if (rois.camera) check_camera(rois, require);
    require(!psf.has_field() || (rois.x_corner.size() == rois.count && rois.y_corner.size() == rois.count),
            fmt::format("{} and {} corners for {} ROIs: a PSF that changes over the field needs to know where each was "
                        "cut; give the corners, or localize the movie itself",
                        rois.x_corner.size(), rois.y_corner.size(), rois.count));
    require(options.max_iterations >= 1 && options.max_iterations <= 255,
            fmt::format("at most {} iterations (`max_iterations`): give 1 to 255", options.max_iterations));
    require(options.gpus >= 0, fmt::format("{} GPUs: give 1 or more, or all", options.gpus));
    require(options.tolerance > 0 && options.tolerance <= 1,
            fmt::format("a tolerance of {} (`tolerance`): give more than 0, at most 1", options.tolerance));
    require(options.emitters == any_emitters || (options.emitters >= 1 && options.emitters <= max_emitters),
            fmt::format("{} emitters in a ROI: give 1 to {}, or any number of them (auto)", options.emitters,
                        max_emitters));
    require(options.psf_misfit >= 0 && options.psf_misfit <= 1,
            fmt::format("a PSF misfit of {}: give a part of its width, 0 to 1", options.psf_misfit));
    require(options.emitters == 1 || environment::backend(options.backend) != Backend::gpu,
            "several emitters in a ROI are fitted on the CPU only: give the backend cpu or auto, or 1 emitter");
    require(options.position_margin_px >= 0 && options.position_margin_px <= 1e3f,
            fmt::format("a margin of {} px around the ROI: give 0 to 1000", options.position_margin_px));
    require(options.min_sigma_px > 0 && options.min_sigma_px <= 1e3f,
            fmt::format("a least width of {} px: give more than 0, at most 1000", options.min_sigma_px));
    require(options.max_sigma_px == 0 || (options.max_sigma_px > options.min_sigma_px && options.max_sigma_px <= 1e3f),
            fmt::format("a greatest width of {} px: give more than the least, {} px, and at most 1000",
                        options.max_sigma_px, options.min_sigma_px));
    for (int k = 0; k < parameter_count(psf.model); ++k)
        require(options.start[0].empty() || options.start[k].size() == rois.count,
                fmt::format("{} start values of parameter {} for {} ROIs", options.start[k].size(), k, rois.count));
    check_psf_of_fit(psf, pixel_size_nm);
}

WidthLimits width_limits(const FitSettings& settings, int size) {
    return {settings.min_sigma_px, settings.max_sigma_px > 0 ? settings.max_sigma_px : float(size)};
}

KernelPsf kernel_psf(const Psf& psf, double pixel_size_nm, const FitSettings& settings, int size) {
    return numbers_of<float>(psf, pixel_size_nm, width_limits(settings, size));
}

KernelOptions kernel_options(const RoiView& rois, const FitSettings& settings) {
    const float variance = rois.camera ? rois.camera->variance_scalar() : rois.variance_scalar;
    const float excess_noise = rois.camera ? rois.camera->excess_noise() : rois.excess_noise;
    const float qe = !rois.qe.empty() ? 1 : rois.camera ? rois.camera->qe_scalar() : rois.qe_scalar;
    return {rois.size, settings.max_iterations, settings.tolerance, settings.position_margin_px,
            variance,  excess_noise / qe,       excess_noise > 1};
}

Starts starts_of(const RoiView& rois, const FitOptions& options) {
    Starts starts;
    for (; starts.known < max_parameters && !options.start[starts.known].empty(); ++starts.known)
        starts.of[starts.known] = options.start[starts.known].data();
    if (starts.known == 0 && !rois.x_start.empty())
        starts.known = 2, starts.of[0] = rois.x_start.data(), starts.of[1] = rois.y_start.data();
    return starts;
}

RoiView view(const Rois& rois) {
    RoiView v;
    v.size = rois.size, v.count = rois.count();
    v.pixels = reinterpret_cast<const std::byte*>(rois.pixels.data());
    v.x_corner = rois.x_corner, v.y_corner = rois.y_corner, v.x_start = rois.x_start, v.y_start = rois.y_start;
    v.variance = rois.variance, v.additive = rois.additive, v.qe = rois.qe;
    v.variance_scalar = rois.variance_scalar, v.qe_scalar = rois.qe_scalar, v.excess_noise = rois.excess_noise;
    return v;
}

FitsView view(Fits& fits) {
    FitsView v;
    v.model = fits.model;
    for (int k = 0; k < parameter_count(fits.model); ++k)
        v.theta[k] = fits.theta[k].data(), v.crlb[k] = fits.crlb[k].data();
    v.log_likelihood_ratio = fits.log_likelihood_ratio.data(), v.p_value = fits.p_value.data();
    v.iterations = fits.iterations.data(), v.status = fits.status.data();
    return v;
}

}  // namespace glint
