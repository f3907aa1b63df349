// Packs groups, launches a team for each, and takes what they found.
//
// The largest groups, which take longest, are begun first, and a team's memory is what its first group needs. Where memory
// is short, fewer groups are fitted at once, and fewer teams take more of them each.
// SPDX-License-Identifier: MIT
#include "fit/cuda/joint_on_gpu.hpp"

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#include "fit/cuda/stream_work.hpp"

namespace glint {
namespace {

constexpr std::size_t teams_of_multiprocessor = 4;  // registers suffice for that many, or for 3 of larger models

/// Of the floats of a group that are uploaded.
std::size_t floats_of(const JointTask& task) { return joint_planes * task.pixels->data.size(); }

}  // namespace

JointOnGpu::JointOnGpu(const gpu::Context& context, FitKernels& kernels, const Psf& psf, double pixel_size_um,
                       const JointOptions& options, std::size_t bytes)
    : stream_(context),
      kernel_(kernels.joint(psf.model)),
      setup_(psf, pixel_size_um, options),
      cpu_(psf, pixel_size_um, options),
      bytes_(bytes),
      before_(context, true),
      after_(context, true) {}

JointOnGpu::~JointOnGpu() { settle(stream_); }

void JointOnGpu::free() { places_ = {}, planes_ = space_ = {}, results_ = {}; }

/// That one group takes alone.
std::size_t JointOnGpu::bytes_of(const JointTask& task) const {
    const JointPixels& pixels = *task.pixels;
    const std::size_t space = setup_.space(pixels.pitch, pixels.height, joint_room(int(task.fit->emitters.size())));
    return grown((floats_of(task) + space) * sizeof(float) + sizeof(JointPlace) + sizeof(JointResult));
}

/// Half of the memory is for groups, half for teams.
std::size_t JointOnGpu::as_many_as_fit(std::span<const JointTask> tasks, std::size_t bytes) const {
    std::size_t n = 0, used = 0;
    while (n < tasks.size()) {
        used += grown(floats_of(tasks[n]) * sizeof(float) + sizeof(JointPlace) + sizeof(JointResult));
        if (n > 0 && used > bytes / 2) break;
        ++n;
    }
    return n;
}

void JointOnGpu::find(std::span<const JointTask> all) {
    std::vector<JointTask> fitting;
    for (const JointTask& task : all)
        if (bytes_of(task) <= bytes_)
            fitting.push_back(task);
        else
            cpu_.find(*task.pixels, *task.fit);
    std::span<const JointTask> tasks = fitting;
    for (std::size_t bytes = bytes_; !tasks.empty();) {
        const std::size_t n = as_many_as_fit(tasks, bytes);
        try {
            find_at_once(tasks.first(n), bytes);
            tasks = tasks.subspan(n);
        } catch (const gpu::OutOfMemory&) {
            settle(stream_);
            free();
            if (bytes == 0) throw;
            bytes = n == 1 ? 0 : bytes / 2;  // 0: one group, one team
        } catch (...) {
            settle(stream_);
            throw;
        }
    }
}

void JointOnGpu::find_at_once(std::span<const JointTask> tasks, std::size_t bytes) {
    const std::size_t n = tasks.size();
    struct Ordered {
        const JointTask* task;
        int room;
        std::size_t space;
    };
    std::vector<Ordered> order;
    for (const JointTask& task : tasks) {
        const int room = joint_room(int(task.fit->emitters.size()));
        order.push_back({&task, room, setup_.space(task.pixels->pitch, task.pixels->height, room)});
    }
    std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.space > b.space; });
    const gpu::Context& context = stream_.context();
    const std::size_t resident = teams_of_multiprocessor * std::size_t(context.multiprocessors());
    grow(places_here_, n, context), grow(results_here_, n, context);
    std::size_t floats = 0, space = 0, teams = 0;
    for (std::size_t k = 0; k < n; ++k) {
        const JointPixels& pixels = *order[k].task->pixels;
        const bool more = k < resident && (k == 0 || grown((space + order[k].space) * sizeof(float)) <= bytes / 2);
        places_here_.data()[k] = {pixels.width,  pixels.height, pixels.pitch, pixels.noise,
                                  order[k].room, floats,        space};
        setup_.begin(*order[k].task, results_here_.data()[k]);
        floats += floats_of(*order[k].task);
        if (more && teams == k) space += order[k].space, ++teams;
    }
    grow(planes_here_, floats, context);
    for (std::size_t k = 0; k < n; ++k) {
        const JointPixels& pixels = *order[k].task->pixels;
        float* to = planes_here_.data() + places_here_.data()[k].first;
        for (const auto* plane : {&pixels.data, &pixels.known, &pixels.per_photon, &pixels.variance, &pixels.searched})
            to = std::copy(plane->begin(), plane->end(), to);
    }
    grow(places_, n, stream_), grow(planes_, floats, stream_), grow(results_, n, stream_);
    grow(space_, space, stream_);
    gpu::upload(stream_, places_, places_here_.span().first(n));
    gpu::upload(stream_, planes_, planes_here_.span().first(floats));
    gpu::upload(stream_, results_, results_here_.span().first(n));
    JointLaunch launch{setup_.psf, setup_.numbers, unsigned(n)};
    std::uint64_t places = places_.read_on(stream_), planes = planes_.read_on(stream_), own = space_.write_on(stream_),
                  results = results_.write_on(stream_);
    void* arguments[] = {&launch, &places, &planes, &own, &results};
    before_.record(stream_);
    gpu::launch(stream_, kernel_, unsigned(teams), joint_team_threads, joint_shared_bytes, arguments);
    after_.record(stream_);
    gpu::download(stream_, results_here_.span().first(n), results_);
    // Groups take milliseconds, in which the driver's wait would keep a core busy.
    while (!stream_.idle()) std::this_thread::sleep_for(std::chrono::microseconds(100));
    stream_.synchronize();
    for (std::size_t k = 0; k < n; ++k) setup_.take(results_here_.data()[k], *order[k].task);
    seconds_ += after_.milliseconds_since(before_) / 1000.0;
    bytes_up_ += std::int64_t(floats * sizeof(float) + n * (sizeof(JointPlace) + sizeof(JointResult)));
    bytes_down_ += std::int64_t(n * sizeof(JointResult));
}

}  // namespace glint
