// Joint fits on the CPU: from frames to the kernel's numbers and back.
// SPDX-License-Identifier: MIT
#include "fit/joint/joint_fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "fit/joint/joint_batch.hpp"
#include "glint/error.hpp"
#include "psf/in_double.hpp"

namespace glint {
namespace {

constexpr float least_model = 0.01f;  // as in the kernel: mu' > 0
constexpr int room = 8;               // molecules that memory is made for at least

}  // namespace

JointPixels::JointPixels(int left_px, int top_px, int width_px, int height_px)
    : left(left_px), top(top_px), width(width_px), height(height_px) {
    pitch = (width + joint_columns - 1) / joint_columns * joint_columns + joint_columns;
    const std::size_t count = std::size_t(pitch) * std::size_t(height);
    data.assign(count, 1), known.assign(count, 1);  // mu' = d' adds nothing to any sum
    per_photon.assign(count, 0), variance.assign(count, 0), searched.assign(count, 0);
}

void JointPixels::add(const JointWindow& window) {
    std::size_t from = 0;
    for (int y = 0; y < window.size; ++y) {
        std::size_t to = at(window.left, window.top + y);
        for (int x = 0; x < window.size; ++x, ++to, ++from) {
            if (!(std::abs(window.pixels[from]) < 1e9f)) continue;  // a bad pixel is not used
            const float read = window.variance ? window.variance[from] : window.variance_scalar;
            const float f = (window.qe ? window.qe[from] : window.qe_scalar) / window.excess_noise;
            per_photon[to] = f;
            variance[to] = known[to] = read * f * f;
            if (window.additive) known[to] += window.additive[from] * f;
            data[to] = std::max(0.0f, window.pixels[from] * f + variance[to]);
            if (read > 0) noise = std::max(noise, JointNoise::poisson);
        }
    }
    if (window.excess_noise > 1) noise = JointNoise::multiplied;
}

FitStatus status_of(const JointFit& fit, std::size_t emitter, int roi_size) {
    const auto& crlb = fit.emitters[emitter].crlb;
    if (fit.singular || !(std::max(crlb[0], crlb[1]) < roi_size)) return FitStatus::singular;
    if (!fit.settled[emitter]) return FitStatus::iteration_limit;
    return fit.at_bound[emitter] ? FitStatus::at_bound : FitStatus::converged;
}

JointFitter::JointFitter(const Psf& psf, double pixel_size_um, const JointOptions& options)
    : model_(psf.model),
      psf_(numbers_of(psf, pixel_size_um, float(options.min_sigma_px), float(options.max_sigma_px))),
      numbers_{options.max_iterations,   float(options.tolerance),
               float(options.margin_px), float(options.least_gain),
               float(options.misfit),    std::min(options.most_emitters, most_joint_emitters)},
      parameters_(parameter_count(psf.model)) {}

void JointFitter::fit(const JointPixels& pixels, JointFit& fit) { run(pixels, false, fit); }

int JointFitter::find(const JointPixels& pixels, JointFit& fit) {
    const std::size_t before = fit.emitters.size();
    run(pixels, true, fit);
    return int(fit.emitters.size()) - int(before);
}

void JointFitter::run(const JointPixels& pixels, bool search, JointFit& fit) {
    const int before = int(fit.emitters.size());
    if (before > most_joint_emitters)
        throw OptionError(fmt::format("{} molecules in a joint fit, which takes {}", before, most_joint_emitters));
    JointImage image{pixels.width,
                     pixels.height,
                     pixels.pitch,
                     pixels.noise,
                     pixels.data.data(),
                     pixels.known.data(),
                     pixels.per_photon.data(),
                     pixels.variance.data(),
                     search ? pixels.searched.data() : nullptr,
                     -1e30f};
    for (std::size_t p = 0; p < pixels.data.size(); ++p)
        if (pixels.per_photon[p] > 0)
            image.least_bg = std::max(image.least_bg, (least_model - pixels.known[p]) / pixels.per_photon[p]);
    const int molecules = search ? most_joint_emitters : std::max(before, room);
    memory_.resize(
        std::max(memory_.size(), fit_joint(int(model_), psf_, numbers_, image, molecules, nullptr, nullptr)));
    result_.count = before, result_.bg = float(fit.bg);
    for (int e = 0; e < before; ++e) {
        const auto& theta = fit.emitters[std::size_t(e)].theta;
        for (int k = 0; k < parameters_; ++k) result_.theta[e][k] = float(theta[std::size_t(k)]);
        result_.theta[e][0] = float(theta[0] - pixels.left), result_.theta[e][1] = float(theta[1] - pixels.top);
    }
    fit_joint(int(model_), psf_, numbers_, image, molecules, memory_.data(), &result_);
    fit.emitters.assign(std::size_t(result_.count), {});
    fit.at_bound.assign(std::size_t(result_.count), 0), fit.settled = fit.at_bound;
    for (int e = 0; e < result_.count; ++e) {
        Emitter& emitter = fit.emitters[std::size_t(e)];
        for (int k = 0; k < parameters_; ++k) {
            emitter.theta[std::size_t(k)] = double(result_.theta[e][k]);
            emitter.crlb[std::size_t(k)] = double(result_.crlb[e][k]);
        }
        emitter.theta[0] += pixels.left, emitter.theta[1] += pixels.top;
        emitter.theta[3] = 0, emitter.crlb[3] = double(result_.bg_crlb);
        fit.at_bound[std::size_t(e)] = result_.at_bound[e], fit.settled[std::size_t(e)] = result_.settled[e];
    }
    fit.bg = double(result_.bg), fit.half_deviance = double(result_.half_deviance);
    fit.p_value = double(result_.p_value), fit.iterations = result_.iterations;
    fit.converged = result_.converged, fit.singular = result_.singular;
}

}  // namespace glint
