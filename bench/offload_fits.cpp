// Stacks of ROIs of any length.
// SPDX-License-Identifier: MIT
#include "bench/offload.hpp"

#include <algorithm>
#include <array>
#include <chrono>

#include "bench/fit.hpp"
#include "fit/weigh.hpp"
#include "glint/simulate.hpp"

namespace glint::cli {
namespace {

constexpr int size_px = 7;
constexpr std::int64_t different = 10'000;

}  // namespace

void FitSample::use(PsfModel model) {
    psf_ = bench_psf(model);
    RoiSimulation simulation;
    simulation.size = size_px, simulation.count = different;
    std::array<std::vector<float>, max_parameters> truth;
    few_ = simulate_rois(simulation, psf_, bench_pixel_nm, {}, truth).pixels;
    rois_.size = size_px;
    rois_.pixels.clear();
}

void FitSample::run(Backend side, std::int64_t n, offload::Machine& machine) {
    FitOptions options;
    options.backend = side;
    options.gpu_timeout_s = 60;
    const std::size_t wanted = std::size_t(n) * size_px * size_px;
    rois_.pixels.resize(std::min(rois_.pixels.size(), wanted));
    rois_.pixels.reserve(wanted);
    while (rois_.pixels.size() < wanted) {
        const std::size_t from = rois_.pixels.size() % few_.size(), lacking = wanted - rois_.pixels.size();
        const auto begin = few_.begin() + std::ptrdiff_t(from);
        rois_.pixels.insert(rois_.pixels.end(), begin, begin + std::ptrdiff_t(std::min(few_.size() - from, lacking)));
    }
    const auto began = std::chrono::steady_clock::now();
    fitter_.fit(rois_, psf_, bench_pixel_nm, options);
    machine.learn(work_of(psf_.model, n), side,
                  std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
}

offload::Work FitSample::work_of(PsfModel model, std::int64_t n) {
    RoiView rois;
    rois.count = std::size_t(n), rois.size = size_px, rois.type = PixelType::float32;
    return fit_work(rois, 0, model, {});
}

}  // namespace glint::cli
