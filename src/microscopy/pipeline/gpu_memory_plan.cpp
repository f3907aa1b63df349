// With joint fits, half of the memory is for frames and half for the fits.
// SPDX-License-Identifier: MIT
#include "pipeline/gpu_memory_plan.hpp"

#include <algorithm>

#include "pipeline/found_spots.hpp"
#include "pipeline/frame_upload.hpp"

namespace glint {
namespace {

// with less memory, a finder fits only few groups simultaneously
constexpr std::size_t bytes_of_finder = std::size_t(4) << 20;

/// Returns the approximate device memory per simultaneously processed frame, without its counts.
std::size_t gpu_bytes_of_frame(const MovieInfo& movie, const LocalizeJob& job) {
    // Photoelectrons; maxima (at most a quarter of the pixels, 13 bytes each) and their bits; and room for spots.
    const std::size_t pixels = std::size_t(movie.width) * std::size_t(movie.height);
    const std::size_t size = std::size_t(job.options.roi_size), wide = FoundSpots(job).wide.size;
    const std::size_t roi = size * size + wide * wide;
    constexpr std::size_t of_pixel = 2 * sizeof(float), of_roi = 128, pixels_of_a_spot = 1024, samples = 16 << 10;
    return pixels * of_pixel + samples + pixels / pixels_of_a_spot * (roi * sizeof(float) + of_roi);
}

}  // namespace

FramesOnGpu frames_on_gpu(std::uint64_t memory_bytes, const MovieInfo& movie, const LocalizeJob& job, int block_frames,
                          std::size_t max_uploads) {
    const std::size_t table = job.options.psf.table ? job.options.psf.table->values().size_bytes() : 0;
    const std::size_t limit = (memory_bytes - std::min<std::uint64_t>(memory_bytes, table)) /
                              (job.options.fit.emitters == any_emitters ? 2 : 1);
    const std::size_t counts = movie.frame_bytes(), frame = gpu_bytes_of_frame(movie, job);
    const std::size_t localizers = std::clamp<std::size_t>(limit / (frame + counts), 1, max_gpu_localizers);
    const std::size_t left = limit - std::min(limit, localizers * frame);
    const std::size_t uploads = std::clamp(left / counts, localizers, std::max(localizers, max_uploads));
    const std::size_t frames = limit / (localizers * frame + uploads * counts);
    return {localizers, uploads, int(std::clamp<std::size_t>(frames, 1, std::size_t(block_frames)))};
}

std::size_t max_uploads(const MovieInfo& movie, const LocalizeJob& job, std::int64_t frames, int block_frames,
                        int gpus) {
    const std::size_t buffers = 2 * FrameUpload::buffer_bytes(movie.frame_bytes()) * std::size_t(gpus);
    const std::size_t useful = 1 + std::size_t(std::clamp<std::int64_t>(frames / block_frames, 0, job.threads - 1));
    return std::clamp<std::size_t>(job.options.memory_bytes / buffers, 1, useful);
}

GroupsOnGpu groups_on_gpu(const gpu::Context& context, std::size_t most) {
    const std::size_t limit = context.statistics().limit_bytes / 2;
    const std::size_t finders = std::clamp<std::size_t>(limit / bytes_of_finder, 1, std::min(most, max_finders));
    return {finders, limit / finders};
}

}  // namespace glint
