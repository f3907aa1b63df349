// Allocates the parts of a GPU, and sums up their results.
// SPDX-License-Identifier: MIT
#include "pipeline/gpu_in_use.hpp"

namespace glint {
namespace {

std::vector<std::unique_ptr<FrameUpload>> uploads_of(GpuFitter& gpu, const MovieInfo& movie, const FramesOnGpu& room) {
    std::vector<std::unique_ptr<FrameUpload>> uploads;
    for (std::size_t k = 0; k < room.uploads; ++k)
        uploads.push_back(std::make_unique<FrameUpload>(gpu.context(), movie.frame_bytes(), room.frames));
    return uploads;
}

std::vector<std::unique_ptr<GpuLocalizer>> localizers_of(GpuFitter& gpu, const LocalizeJob& job,
                                                         const FramesOnGpu& room) {
    const gpu::Module detect = detect_module(gpu.context());
    std::vector<std::unique_ptr<GpuLocalizer>> localizers;
    for (std::size_t k = 0; k < room.localizers; ++k)
        localizers.push_back(std::make_unique<GpuLocalizer>(gpu.context(), detect, gpu.kernels(), job, room.frames));
    return localizers;
}

/// Creates as many finders as there are threads that may request one.
std::vector<std::unique_ptr<JointOnGpu>> finders_of(GpuFitter& gpu, const LocalizeJob& job) {
    std::vector<std::unique_ptr<JointOnGpu>> finders;
    if (job.options.fit.emitters != any_emitters) return finders;
    const GroupsOnGpu room = groups_on_gpu(gpu.context(), std::size_t(job.threads));
    for (std::size_t k = 0; k < room.finders; ++k)
        finders.push_back(std::make_unique<JointOnGpu>(gpu.context(), gpu.kernels(), job.options.psf,
                                                       job.options.pixel_size_nm, joint_options(job), room.bytes));
    return finders;
}

}  // namespace

void LeaseKeeper::look() {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock) return;  // another thread is doing this
    if (works_until_ > 0) --works_until_;
    const auto now = std::chrono::steady_clock::now();
    if (works_until_ > 0 || now - looked_ < std::chrono::milliseconds(100)) return;
    looked_ = now;
    gpu_.share();
}

GpuInUse::GpuInUse(GpuFitter& gpu, const MovieInfo& movie, const LocalizeJob& job, int block_frames,
                   std::size_t max_uploads, const std::function<bool()>& gives_way_now)
    : fitter(gpu),
      gives_way(gives_way_now),
      room(frames_on_gpu(gpu.context().statistics().limit_bytes, movie, job, block_frames, max_uploads)),
      uploads(uploads_of(gpu, movie, room)),
      localizers(localizers_of(gpu, job, room)),
      finders(finders_of(gpu, job)),
      keeper(gpu, uploads.size() + localizers.size() + finders.size()) {}

void GpuInUse::add_to(FitInfo& info) const {
    for (const auto& upload : uploads) info.bytes_up += upload->bytes(), info.transfer_seconds += upload->seconds();
    for (const auto& localizer : localizers) {
        const GpuTimes& times = localizer->times();
        info.bytes_down += times.bytes_down, info.kernel_seconds += times.detect + times.fit;
    }
    for (const auto& finder : finders) {
        info.bytes_up += finder->bytes_up(), info.bytes_down += finder->bytes_down();
        info.kernel_seconds += finder->seconds();
    }
    info.fits = fits;
}

}  // namespace glint
