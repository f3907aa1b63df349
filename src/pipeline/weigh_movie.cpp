// Counting a movie's work, and asking the cost model.
// SPDX-License-Identifier: MIT
#include "pipeline/weigh_movie.hpp"

#include "fit/weigh.hpp"
#include "glint/environment.hpp"
#include "offload/decide.hpp"
#include "offload/outlook.hpp"

namespace glint {
namespace {

constexpr double by_rule = 2e8;           // pixels; more go to a GPU where nothing was measured
constexpr double flops_of_a_pixel = 150;  // conversion, background, filter, and a few fits
constexpr double pixels_of_a_spot = 5000;

}  // namespace

offload::Work movie_work(const MovieInfo& movie, const Job& job, std::int64_t frames) {
    const double pixels = double(frames) * movie.width * movie.height, spots = pixels / pixels_of_a_spot;
    const double roi = double(job.options.roi_size) * job.options.roi_size;
    offload::Work work;
    work.operation = &model_operation("localize", job.options.psf.model, job.options.roi_size,
                                      !job.camera.variance_map().empty(), "pixels", by_rule);
    work.size = pixels, work.flops = pixels * flops_of_a_pixel;
    work.bytes_to_gpu = std::uint64_t(pixels * bytes_of(movie.type));
    work.bytes_from_gpu = std::uint64_t(spots * 4 * (roi + 2 * parameter_count(job.options.psf.model) + 10));
    work.bytes = pixels * (bytes_of(movie.type) + 8 * sizeof(float));
    work.pinned = true;
    work.cpu_threads = job.threads, work.library = "movie kernels";
    return work;
}

bool MovieWeighing::knows_cpu() const {
    return !offload::driver_is_there() || cpu_->knows(movie_work(movie_, job_, 1), Backend::cpu);
}

offload::Decision MovieWeighing::decide(std::int64_t frames) {
    const offload::Work work = movie_work(movie_, job_, frames);
    const offload::Outlook seen = offload::look(job_.options.fit.gpu_memory_bytes);
    machine_ = offload::machine_with(seen.uuid, seen.driver);
    offload::Circumstances at;
    at.threshold_bytes = environment::offload_threshold_bytes();
    if (!seen.why_no_gpu.empty()) at.why_no_gpu = seen.why_no_gpu.c_str();
    at.wait_s = seen.wait_s, at.contention = seen.contention;
    offload::Decision decision = offload::decide(*machine_, at, work);
    if (decision.basis != offload::Basis::forced) decision.flips_at = offload::flip_size(*machine_, at, work);
    return decision;
}

void MovieWeighing::learn(Backend side, std::int64_t frames, double seconds) {
    const offload::Work work = movie_work(movie_, job_, frames);
    if (side == Backend::cpu) cpu_->learn(work, side, seconds);
    if (machine_ && machine_ != cpu_) machine_->learn(work, side, seconds);
}

}  // namespace glint
