// Divides a GPU's memory among the parts of a movie that are on it simultaneously.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "glint/gpu/context.hpp"
#include "glint/movie.hpp"
#include "pipeline/localize_job.hpp"

namespace glint {

/// Blocks whose spots one GPU finds and fits simultaneously, each on its own stream: one computes, one downloads, one
/// starts and one ends.
constexpr std::size_t max_gpu_localizers = 4;
/// Simultaneous launches of joint fits. Each launch waits for its last group, so several are needed to use the GPU
/// fully.
constexpr std::size_t max_finders = 8;

struct FramesOnGpu {
    std::size_t localizers;  ///< number of GpuLocalizer that fit into memory; at least one
    std::size_t uploads;     ///< number of FrameUpload; at least as many
    int frames;              ///< capacity of each localizer and upload
};
/// Plans for `memory_bytes` of a GPU, blocks of `block_frames` frames, and at most `uploads` uploads.
FramesOnGpu frames_on_gpu(std::uint64_t memory_bytes, const MovieInfo& movie, const LocalizeJob& job, int block_frames,
                          std::size_t max_uploads);

/// Returns the number of FrameUploads for each of several GPUs: one for each thread with a block, unless the
/// page-locked memory of all would exceed the job's memory. `frames`: of the movie, or unknown_end.
std::size_t max_uploads(const MovieInfo& movie, const LocalizeJob& job, std::int64_t frames, int block_frames,
                        int gpus);

struct GroupsOnGpu {
    std::size_t finders;  ///< number of JointOnGpu that fit into memory; at least one
    std::size_t bytes;    ///< device memory for each
};
/// Plans for a job with joint fits. `most`: maximum number of finders in use simultaneously.
GroupsOnGpu groups_on_gpu(const gpu::Context& context, std::size_t most);

}  // namespace glint
