// Fits the ROIs that a single molecule does not explain, and writes the rows of all ROIs.
// SPDX-License-Identifier: MIT
#include "fit/joint/roi_emitters.hpp"

#include <algorithm>

#include "fit/fit_setup.hpp"

namespace glint {
namespace {

static_assert(max_emitters == max_joint_emitters);

/// The noise of all pixels of a stack without noise maps.
struct StackNoise {
    float variance, qe, excess_noise;
};
StackNoise noise_of(const RoiView& rois) {
    if (!rois.camera) return {rois.variance_scalar, rois.qe_scalar, rois.excess_noise};
    return {rois.camera->variance_scalar(), rois.camera->qe_scalar(), rois.camera->excess_noise()};
}

/// The pixels of ROI k of `in`, which is `roi` of all.
JointPixels pixels_of(const RoiView& rois, const KernelInput& in, std::int64_t k, std::size_t roi) {
    const std::ptrdiff_t at = std::ptrdiff_t(k) * rois.size * rois.size;
    const auto of = [at](const float* plane) { return plane ? plane + at : nullptr; };
    const StackNoise noise = noise_of(rois);
    JointPixels pixels({0, 0, rois.size, rois.size});
    if (roi < rois.x_corner.size() && roi < rois.y_corner.size())
        pixels.place_x_px += rois.x_corner[roi], pixels.place_y_px += rois.y_corner[roi];
    pixels.add({rois.size, of(in.pixels), of(in.variance), of(in.additive), of(in.qe), noise.variance, noise.qe,
                noise.excess_noise});
    for (int y = 0; y < rois.size; ++y) std::fill_n(&pixels[JointPlane::searched][pixels.at(0, y)], rois.size, 1.0f);
    return pixels;
}

void copy_row(const Fits& from, std::size_t row, Fits& to) {
    for (int k = 0; k < parameter_count(from.model); ++k) {
        to.theta[std::size_t(k)].push_back(from.theta[std::size_t(k)][row]);
        to.crlb[std::size_t(k)].push_back(from.crlb[std::size_t(k)][row]);
    }
    to.log_likelihood_ratio.push_back(from.log_likelihood_ratio[row]), to.p_value.push_back(from.p_value[row]);
    to.iterations.push_back(from.iterations[row]), to.status.push_back(from.status[row]);
    to.window.push_back(std::uint32_t(row)), to.emitters.push_back(0);
}

void append_row(const JointFit& fit, std::size_t e, int roi_size, std::size_t roi, Fits& to) {
    const FitStatus status = status_of(fit, e, roi_size);
    const Emitter& emitter = fit.emitters[e];
    for (std::size_t k = 0; k < std::size_t(parameter_count(to.model)); ++k) {
        to.theta[k].push_back(float(emitter.theta[k]));
        to.crlb[k].push_back(status == FitStatus::singular ? 0.0f : float(emitter.crlb[k]));
    }
    to.log_likelihood_ratio.push_back(float(-fit.half_deviance)), to.p_value.push_back(float(fit.p_value));
    to.iterations.push_back(std::uint8_t(std::min(fit.iterations, 255))), to.status.push_back(status);
    to.window.push_back(std::uint32_t(roi)), to.emitters.push_back(std::uint32_t(fit.emitters.size()));
}

}  // namespace

JointOptions joint_options(const FitSettings& settings, int roi_size, float excess_noise) {
    JointOptions joint;
    joint.max_iterations = settings.max_iterations, joint.tolerance = settings.tolerance;
    joint.margin_px = settings.position_margin_px, joint.widths = width_limits(settings, roi_size);
    joint.misfit = settings.psf_misfit;
    // An EM register's noise has a longer tail than its Poisson model. For the same reason, its detection threshold is
    // 6 instead of 5.
    if (excess_noise > 1) joint.min_gain = joint.min_tilt_gain *= 6 * 6 / (5.0 * 5.0);
    return joint;
}

RoiEmitters::RoiEmitters(const RoiView& rois, const Psf& psf, double pixel_size_nm, const FitOptions& options,
                         const Fits& alone)
    : rois_(rois),
      psf_(psf),
      pixel_size_nm_(pixel_size_nm),
      options_(joint_options(options, rois.size, noise_of(rois).excess_noise)),
      stop_(options.stop),
      alone_(alone),
      found_(rois.count) {
    if (options.emitters != any_emitters) options_.max_emitters = options.emitters;
}

bool RoiEmitters::stays(std::size_t roi) const {
    return alone_.status[roi] == FitStatus::bad_input ||
           (alone_.status[roi] == FitStatus::converged && alone_.p_value[roi] >= good_p_value);
}

JointFit RoiEmitters::start(std::size_t roi) const {
    JointFit fit;
    if (alone_.status[roi] == FitStatus::singular) return fit;
    Emitter emitter;
    for (std::size_t k = 0; k < std::size_t(parameter_count(alone_.model)); ++k)
        emitter.theta[k] = alone_.theta[k][roi];
    emitter.theta[2] = std::max(emitter.theta[2], min_start_photons);
    fit.emitters = {emitter}, fit.bg = alone_.theta[3][roi];
    return fit;
}

void RoiEmitters::fit(const KernelInput& in, std::int64_t first) {
    JointFitter fitter(psf_, pixel_size_nm_, options_);
    for (std::int64_t k = 0; k < in.count; ++k) {
        const auto roi = std::size_t(first + k);
        if (stop_ && *stop_) return;  // a search may take a tenth of a second
        if (stays(roi)) continue;
        JointFit fit = start(roi);
        fitter.find(pixels_of(rois_, in, k, roi), fit);
        if (fit.emitters.size() == 1 && !fit.tilted() && alone_.status[roi] == FitStatus::converged) continue;
        found_[roi] = std::move(fit);
    }
}

Fits RoiEmitters::rows() const {
    Fits rows;
    rows.resize(alone_.model, 0);
    for (std::size_t roi = 0; roi < found_.size(); ++roi) {
        if (found_[roi].emitters.empty()) copy_row(alone_, roi, rows);
        for (std::size_t e = 0; e < found_[roi].emitters.size(); ++e) append_row(found_[roi], e, rois_.size, roi, rows);
    }
    return rows;
}

}  // namespace glint
