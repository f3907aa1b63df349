// Joint fits on the CPU: from frames to the kernel's numbers and back.
// SPDX-License-Identifier: MIT
#include "fit/joint/joint_fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "fit/joint/joint_batch.hpp"
#include "glint/error.hpp"
#include "psf/in_double.hpp"

namespace glint {

JointPixels::JointPixels(const Rectangle& rectangle) : Rectangle(rectangle) {
    pitch = pitch_of(width);
    place_x_px = middle_x_px(), place_y_px = middle_y_px();
    planes_.reserve(5 * count());
    planes_.resize(2 * count(), 1.0f);  // data and known: mu' = d' adds nothing to any sum
    planes_.resize(5 * count(), 0.0f);
}

void JointPixels::add(const JointWindow& window) {
    const bool uniform = !window.variance && !window.additive && !window.qe;
    bool read_noise = false;
    for (int y = 0; y < window.size; ++y) {
        const std::size_t first = std::size_t(y) * std::size_t(window.size), to = at(window.left, window.top + y);
        const float* pixels = window.pixels + first;
        const std::array<float*, 4> out{&(*this)[JointPlane::data][to], &(*this)[JointPlane::known][to],
                                        &(*this)[JointPlane::per_photon][to], &(*this)[JointPlane::variance][to]};
        const auto put = [&](int x, float read, float additive, float qe) {
            const JointPixel pixel = joint_pixel(pixels[x], read, additive, qe / window.excess_noise);
            const bool used = is_used(pixels[x]);  // no branch, so that the loop vectorizes
            out[0][x] = used ? pixel.data : out[0][x], out[1][x] = used ? pixel.known : out[1][x];
            out[2][x] = used ? pixel.per_photon : out[2][x], out[3][x] = used ? pixel.variance : out[3][x];
            read_noise |= used & (read > 0);
        };
        for (int x = 0; uniform && x < window.size; ++x) put(x, window.variance_scalar, 0, window.qe_scalar);
        for (int x = 0; !uniform && x < window.size; ++x) {
            const std::size_t from = first + std::size_t(x);
            put(x, window.variance ? window.variance[from] : window.variance_scalar,
                window.additive ? window.additive[from] : 0, window.qe ? window.qe[from] : window.qe_scalar);
        }
    }
    if (read_noise) noise = std::max(noise, JointNoise::poisson);
    if (window.excess_noise > 1) noise = JointNoise::multiplied;
}

void JointPixels::clear_known() {
    const std::span<float> to = (*this)[JointPlane::known];
    const std::span<const float> used = (*this)[JointPlane::per_photon], read = (*this)[JointPlane::variance];
    for (std::size_t p = 0; p < to.size(); ++p) to[p] = used[p] > 0 ? read[p] : 1.0f;
}

void append_light(std::span<const Emitter> emitters, const Rectangle& rectangle, std::vector<JointLight>& to) {
    for (const Emitter& emitter : emitters) {
        JointLight& light = to.emplace_back();
        std::copy(emitter.theta.begin(), emitter.theta.end(), light.begin());
        light[0] = float(emitter.theta[0] - rectangle.left), light[1] = float(emitter.theta[1] - rectangle.top);
    }
}

FitStatus status_of(const JointFit& fit, std::size_t emitter, int roi_size) {
    const auto& crlb = fit.emitters[emitter].crlb;
    if (fit.singular || !(std::max(crlb[0], crlb[1]) < roi_size)) return FitStatus::singular;
    if (!fit.settled[emitter]) return FitStatus::iteration_limit;
    return fit.at_bound[emitter] ? FitStatus::at_bound : FitStatus::converged;
}

JointSetup::JointSetup(const Psf& of, double pixel_size_nm, const JointOptions& options)
    : model(of.model),
      table(of.table),
      psf(numbers_of<float>(of, pixel_size_nm, options.widths)),
      numbers{options.max_iterations,
              float(options.tolerance),
              float(options.margin_px),
              float(options.min_gain),
              float(options.misfit),
              float(options.min_tilt_gain),
              std::min(options.max_emitters, max_joint_emitters),
              false,
              {}},
      parameters(parameter_count(of.model)) {
    std::copy(options.satellites.begin(), options.satellites.end(), numbers.satellites);
    numbers.has_satellites =
        std::any_of(options.satellites.begin(), options.satellites.end(), [](float s) { return s > 0; });
}

KernelPsf JointSetup::psf_at(double x_px, double y_px) const {
    KernelPsf of_cell = psf;
    move_to_cell(x_px, y_px, of_cell);
    return of_cell;
}

std::size_t JointSetup::cell_of(const Rectangle& rectangle) const {
    if (!table) return 0;
    return std::size_t(psf_at(rectangle.middle_x_px(), rectangle.middle_y_px()).table.values - psf.table.values);
}

JointImage JointSetup::image_of(const JointPixels& pixels, bool search) const {
    return {pixels.width,
            pixels.height,
            pixels.pitch,
            pixels.noise,
            pixels[JointPlane::data].data(),
            pixels[JointPlane::known].data(),
            pixels[JointPlane::per_photon].data(),
            pixels[JointPlane::variance].data(),
            search ? pixels[JointPlane::searched].data() : nullptr};
}

void JointSetup::begin(const JointFit& fit, const Rectangle& rectangle, JointResult& result) const {
    const std::vector<Emitter>& emitters = fit.emitters;
    if (emitters.size() > std::size_t(max_joint_emitters))
        throw OptionError(
            fmt::format("{} molecules in a joint fit, which takes {}", emitters.size(), max_joint_emitters));
    result.bg = float(fit.bg);
    for (std::size_t k = 0; k < 2; ++k) result.tilt[k] = float(fit.bg_tilt[k]);
    result.count = int(emitters.size());
    for (std::size_t e = 0; e < emitters.size(); ++e) {
        const auto& theta = emitters[e].theta;
        for (int k = 0; k < parameters; ++k) result.theta[e][k] = float(theta[std::size_t(k)]);
        result.theta[e][0] = float(theta[0] - rectangle.left);
        result.theta[e][1] = float(theta[1] - rectangle.top);
    }
}

void JointSetup::take(const JointResult& result, const Rectangle& rectangle, JointFit& fit) const {
    fit.emitters.assign(std::size_t(result.count), {});
    fit.at_bound.assign(std::size_t(result.count), 0), fit.settled = fit.at_bound;
    for (int e = 0; e < result.count; ++e) {
        Emitter& emitter = fit.emitters[std::size_t(e)];
        for (int k = 0; k < parameters; ++k) {
            emitter.theta[std::size_t(k)] = double(result.theta[e][k]);
            emitter.crlb[std::size_t(k)] = double(result.crlb[e][k]);
        }
        emitter.theta[0] += rectangle.left, emitter.theta[1] += rectangle.top;
        emitter.theta[3] = double(result.theta[e][3]), emitter.crlb[3] = double(result.bg_crlb);
        fit.at_bound[std::size_t(e)] = result.at_bound[e], fit.settled[std::size_t(e)] = result.settled[e];
    }
    for (std::size_t k = 0; k < 2; ++k) fit.bg_tilt[k] = double(result.tilt[k]);
    fit.bg = double(result.bg), fit.half_deviance = double(result.half_deviance);
    fit.p_value = double(result.p_value), fit.iterations = result.iterations;
    fit.converged = result.converged, fit.singular = result.singular;
}

std::size_t JointSetup::space(int pitch, int height, int molecules) const {
    JointImage image{};
    image.pitch = pitch, image.height = height;
    return fit_joint(int(model), psf, numbers, image, molecules, nullptr, nullptr);
}

JointFitter::JointFitter(const Psf& psf, double pixel_size_nm, const JointOptions& options)
    : setup_(psf, pixel_size_nm, options) {}

void JointFitter::fit(const JointPixels& pixels, JointFit& fit) { run(pixels, false, fit); }

int JointFitter::find(const JointPixels& pixels, JointFit& fit) {
    const std::size_t before = fit.emitters.size();
    run(pixels, true, fit);
    return int(fit.emitters.size()) - int(before);
}

void JointFitter::add_light(std::span<const JointLight> light, JointPixels& to) {
    if (light.empty()) return;
    memory_.resize(std::max(memory_.size(), setup_.space(to.pitch, to.height, 1)));
    add_known_light(int(setup_.model), setup_.psf_at(to.place_x_px, to.place_y_px), setup_.image_of(to, false),
                    light.front().data(), int(light.size()), memory_.data(), to[JointPlane::known].data());
}

void JointFitter::run(const JointPixels& pixels, bool search, JointFit& fit) {
    setup_.begin(fit, pixels, result_);
    const int molecules = search ? joint_room(result_.count) : std::max(result_.count, 1);
    memory_.resize(std::max(memory_.size(), setup_.space(pixels.pitch, pixels.height, molecules)));
    JointNumbers numbers = setup_.numbers;
    numbers.max_emitters = std::min(numbers.max_emitters, molecules);
    fit_joint(int(setup_.model), setup_.psf_at(pixels.place_x_px, pixels.place_y_px), numbers,
              setup_.image_of(pixels, search), molecules, memory_.data(), &result_);
    setup_.take(result_, pixels, fit);
}

}  // namespace glint
