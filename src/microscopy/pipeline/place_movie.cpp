// Estimates a movie's work, times the CPU on a few of its frames, and queries the cost model.
// SPDX-License-Identifier: MIT
#include "pipeline/place_movie.hpp"

#include <fmt/format.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <mutex>

#include "base/arena.hpp"
#include "base/clock.hpp"
#include "data/frame_block.hpp"
#include "fit/fit_setup.hpp"
#include "fit/weigh.hpp"
#include "glint/error.hpp"
#include "pipeline/cpu_localizer.hpp"
#include "pipeline/lone_spots.hpp"

namespace glint {
namespace {

constexpr double pixels_by_rule = 2e8;          // without measurements, movies with more pixels go to a GPU
constexpr double flops_of_a_movie_pixel = 150;  // conversion, background, filter, and a few fits
constexpr double pixels_of_a_spot = 5000;

constexpr std::int64_t long_movie = 10000;  // frames; assumed for a movie whose end is not known

/// Returns true if a sample could change the decision. The time of joint fits depends on crowding, and speeds without a
/// measurement are guesses.
bool wants_sample(const LocalizeJob& job, const offload::Decision& decision) {
    if (job.options.on_decision) return true;
    return may_be_crowded(job) || (decision.choice == Backend::gpu && decision.basis != offload::Basis::measured);
}

}  // namespace

bool may_be_crowded(const LocalizeJob& job) {
    return job.options.fit.emitters == any_emitters && (job.lone.spots == 0 || is_crowded(job.lone));
}

offload::Work movie_work(const MovieInfo& movie, const LocalizeJob& job, std::int64_t frames) {
    const double pixels = double(expected_frames(frames)) * movie.width * movie.height,
                 spots = pixels / pixels_of_a_spot;
    const double roi = double(job.options.roi_size) * job.options.roi_size;
    offload::Work work;
    // Joint fits take many times as long in crowds, so measurements of each kind are kept separately.
    const char* kind = job.options.fit.emitters == 1 ? "localize singly"
                       : may_be_crowded(job)         ? "localize crowds"
                                                     : "localize";
    work.operation = &model_operation(kind, job.options.psf.model, job.options.roi_size,
                                      !job.camera.variance_map().empty(), "pixels", pixels_by_rule);
    work.size = pixels, work.flops = pixels * flops_of_a_movie_pixel;
    work.bytes_to_gpu = std::uint64_t(pixels * num_bytes(movie.type));
    work.bytes_from_gpu = std::uint64_t(spots * 4 * (roi + 2 * parameter_count(job.options.psf.model) + 10));
    work.bytes = pixels * (num_bytes(movie.type) + 8 * sizeof(float));
    work.pinned = true;
    work.cpu_threads = job.threads, work.library = "movie kernels";
    return work;
}

std::int64_t expected_frames(std::int64_t frames) { return frames == unknown_end ? long_movie : frames; }

CpuSample sample_cpu(Movie& movie, const LocalizeJob& job, std::int64_t frames, bool at_any_price, bool precisely) {
    constexpr std::int64_t max_share_of_whole = 20;
    constexpr double soon_s = 0.02;
    if (frames < max_share_of_whole * job.threads && !at_any_price) return {};
    const std::int64_t all = job.frames.end - job.frames.begin, samples = std::min<std::int64_t>(job.threads, all);
    CpuSample sample;
    double seconds = 0;
    std::mutex mutex;
    const auto localize = [&](std::int64_t k) {
        CpuLocalizer localizer(job);
        FrameBlock block;
        const auto seconds_of_frame = [&] {
            const Clock::time_point began = Clock::now();
            movie.read(job.frames.begin + (2 * k + 1) * all / (2 * samples), 1, block);
            localizer.localize(block);
            return seconds_since(began);
        };
        double took = seconds_of_frame();
        if (took < soon_s && precisely) took = seconds_of_frame();
        const std::lock_guard lock(mutex);
        ++sample.frames, seconds += took;
    };
    tbb::task_arena arena(tbb_threads(job.threads));
    try {
        arena.execute([&] { tbb::parallel_for(std::int64_t(0), samples, localize); });
    } catch (const Error&) {
        return {};
    }
    sample.seconds = seconds / double(samples) * double(frames) / job.threads;
    return sample;
}

std::string CpuSample::in_words() const {
    return frames == 0 ? "" : fmt::format("by {} frames of this movie the CPU takes about {:.2g} s", frames, seconds);
}

std::optional<offload::Decision> place_movie(Movie& movie, const LocalizeJob& job, std::int64_t frames,
                                             offload::Advisor& advisor, MovieService& service, FitInfo& info) {
    const LocalizeOptions& options = job.options;
    if (!compares_backends(options) || frames == 0) return {};
    const offload::Work work = movie_work(movie.info(), job, frames);
    const bool explains = bool(options.on_decision), ends = frames != unknown_end;
    CpuSample sample;
    if (ends && offload::driver_is_there() && !advisor.knows_cpu(work)) {
        sample = sample_cpu(movie, job, frames, explains, true);
        if (sample.frames > 0)
            advisor.learn(movie_work(movie.info(), job, sample.frames), Backend::cpu,
                          sample.seconds * double(sample.frames) / double(frames));
    }
    const std::optional<OpenGpu> open_gpu = service.open_gpu();
    if (open_gpu) advisor.opened_elsewhere(open_gpu->uuid, open_gpu->driver);
    offload::Decision decision = advisor.place(work, options.gpu_memory_bytes, open_gpu.has_value());
    info.decision = decision.reason();
    std::string explained = decision.table();
    if (ends && (explains || decision.basis != offload::Basis::forced)) {
        if (sample.frames == 0 && wants_sample(job, decision))
            sample = sample_cpu(movie, job, frames, explains, explains || decision.choice == Backend::gpu);
        const Backend by_size = decision.choice;
        if (sample.frames > 0) offload::update_decision(sample.seconds, decision);
        explained += sample.in_words();
        if (decision.choice != by_size)
            info.decision +=
                fmt::format("; but on the {}: {}", decision.choice == Backend::gpu ? "GPU" : "CPU", sample.in_words());
    }
    if (explains) options.on_decision(info.decision + '\n' + explained);
    return decision;
}

}  // namespace glint
