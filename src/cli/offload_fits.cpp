// Stacks of ROIs of any length.
// SPDX-License-Identifier: MIT
#include "cli/offload_fits.hpp"

#include <algorithm>
#include <array>
#include <chrono>

#include "cli/bench_fit.hpp"
#include "fit/weigh.hpp"
#include "glint/simulate.hpp"

namespace glint::cli {
namespace {

constexpr int size_px = 7;
constexpr std::int64_t different = 10'000;

}  // namespace

std::vector<PsfModel> fit_models() {
    return {PsfModel::GaussianXYNB, PsfModel::GaussianXYNBS, PsfModel::GaussianXYNBSXSY, PsfModel::AstigmaticXYZNB};
}

FitSample::FitSample(PsfModel model, std::int64_t most) : psf_(bench_psf(model)) {
    RoiSimulation simulation;
    simulation.size = size_px, simulation.count = std::min(most, different);
    std::array<std::vector<float>, max_parameters> truth;
    all_ = simulate_rois(simulation, psf_, bench_pixel_um, {}, truth);
    const std::size_t wanted = std::size_t(most) * size_px * size_px, have = all_.pixels.size();
    all_.pixels.resize(std::max(wanted, have));
    for (std::size_t k = have; k < all_.pixels.size(); ++k) all_.pixels[k] = all_.pixels[k - have];
}

void FitSample::run(offload::Side side, std::int64_t n, offload::Machine& machine) {
    FitOptions options;
    options.backend = side == offload::Side::gpu ? Backend::gpu : Backend::cpu;
    options.gpu_timeout_s = 60;
    if (std::int64_t(part_.count()) != n) {
        part_ = {};
        part_.size = size_px;
        part_.pixels.assign(all_.pixels.begin(), all_.pixels.begin() + std::ptrdiff_t(n) * size_px * size_px);
    }
    const auto began = std::chrono::steady_clock::now();
    fitter_.fit(part_, psf_, bench_pixel_um, options);
    machine.learn(work_of(psf_.model, n), side,
                  std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
}

offload::Work FitSample::work_of(PsfModel model, std::int64_t n) {
    RoiView rois;
    rois.count = std::size_t(n), rois.size = size_px, rois.type = PixelType::float32;
    return fit_work(rois, 0, model, {});
}

}  // namespace glint::cli
