// A frame for each thread.
// SPDX-License-Identifier: MIT
#include "pipeline/cpu_sample.hpp"

#include <fmt/format.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <mutex>

#include "base/arena.hpp"
#include "base/clock.hpp"
#include "data/frame_block.hpp"
#include "glint/error.hpp"
#include "pipeline/worker.hpp"

namespace glint {

CpuSample sample_cpu(Movie& movie, const Job& job, std::int64_t frames, bool at_any_price, bool precisely) {
    constexpr std::int64_t most_of_whole = 20;
    constexpr double soon_s = 0.02;
    if (frames < most_of_whole * job.threads && !at_any_price) return {};
    const std::int64_t all = job.frames.end - job.frames.begin, samples = std::min<std::int64_t>(job.threads, all);
    CpuSample sample;
    double seconds = 0;
    std::mutex mutex;
    const auto localize = [&](std::int64_t k) {
        Worker worker(job);
        FrameBlock block;
        const auto seconds_of_frame = [&] {
            const Clock::time_point began = Clock::now();
            movie.read(job.frames.begin + (2 * k + 1) * all / (2 * samples), 1, block);
            worker.localize(block);
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
    return frames == 0 ? ""
                       : fmt::format(
                             "by {} frames of this movie, whose joint fits take as long as it is crowded, the "
                             "CPU takes about {:.2g} s",
                             frames, seconds);
}

void heed(const CpuSample& sample, offload::Decision& decision) {
    constexpr double surely = 1.5;         // all threads at once are slower than one
    constexpr double worth_opening_s = 2;  // whatever the GPU
    if (sample.frames == 0 || decision.basis == offload::Basis::forced) return;
    const double gpu_s = decision.gpu.total();
    if (decision.choice == Backend::gpu && surely * sample.seconds < gpu_s)
        decision.choice = Backend::cpu;
    else if (sample.seconds > std::max({worth_opening_s, 2 * decision.cpu.total(), gpu_s}))
        decision.choice = Backend::gpu;
}

}  // namespace glint
