// The division of a movie into blocks, and how many of them may be in memory simultaneously.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

namespace glint {

struct BlockPlan {
    int frames = 1;  ///< per block
    int blocks = 1;  ///< maximum number in flight
};

/// Plans blocks for the CPU: large enough to fill the fit's vectors, small enough for the cache, and enough blocks for
/// all threads. All blocks in flight need at most `memory_bytes`, unless one frame alone needs more.
BlockPlan plan_blocks(std::size_t frame_bytes, std::int64_t frames, int threads, std::size_t memory_bytes);

/// Plans blocks for a GPU: large enough to use the link and the GPU fully, one for each thread and some ahead.
BlockPlan plan_gpu_blocks(std::size_t frame_bytes, std::int64_t frames, int threads, std::size_t memory_bytes);

/// Returns the maximum number of frames in a block of plan_gpu_blocks().
int max_frames_of_gpu_block(std::size_t frame_bytes);

/// Plans blocks that exist only in GPU memory, each of at most `block_bytes` unless one frame needs more.
BlockPlan plan_uploaded_blocks(std::size_t frame_bytes, std::int64_t frames, int threads, std::size_t block_bytes);

}  // namespace glint
