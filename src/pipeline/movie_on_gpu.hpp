// The frames of a job on one GPU: read by all threads, found and fitted there, made to rows by all threads again.
// SPDX-License-Identifier: MIT
#pragma once

#include "glint/gpu_fit.hpp"
#include "pipeline/blocks_in_order.hpp"

namespace glint {

/// Until nothing is left to do, or something fails: throws gpu::GpuError, and what the sink throws. `info`: what the GPU
/// did, also then. `frames`: about how many there are.
void localize_on_gpu(GpuFitter& gpu, const MovieInfo& movie, const Job& job, std::int64_t frames, BlocksInOrder& blocks,
                     FitInfo& info);

}  // namespace glint
