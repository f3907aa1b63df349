// How a GPU's memory is divided among the parts of a movie that are on it simultaneously.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "glint/gpu/context.hpp"
#include "glint/movie.hpp"
#include "pipeline/localize_job.hpp"

namespace glint {

/// Blocks whose spots one GPU finds and fits simultaneously, each on a stream: one computes, one downloads, one starts
/// and one ends.
constexpr std::size_t most_gpu_localizers = 4;
/// Simultaneous launches of joint fits: each waits for its last group, and many fill the GPU.
constexpr std::size_t most_finders = 8;

struct FramesOnGpu {
    std::size_t localizers;  ///< GpuLocalizer, as many as there is memory for; at least one
    std::size_t uploads;     ///< FrameUpload, at least as many
    int frames;              ///< that each of both may hold
};
/// With `memory_bytes` of a GPU, for blocks of so many frames, and as many uploads, at most.
FramesOnGpu frames_on_gpu(std::uint64_t memory_bytes, const MovieInfo& movie, const LocalizeJob& job, int block_frames,
                          std::size_t most_uploads);

/// FrameUploads of each of so many GPUs: one for each thread that has a block, unless the page-locked memory of all
/// took more than the job's memory. `frames`: of the movie, or unknown_end.
std::size_t most_uploads(const MovieInfo& movie, const LocalizeJob& job, std::int64_t frames, int block_frames,
                         int gpus);

struct GroupsOnGpu {
    std::size_t finders;  ///< JointOnGpu, as many as there is memory for; at least one
    std::size_t bytes;    ///< of device memory for each
};
/// For a job with joint fits. `most`: maximum number of finders in use simultaneously.
GroupsOnGpu groups_on_gpu(const gpu::Context& context, std::size_t most);

}  // namespace glint
