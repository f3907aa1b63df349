// The division of a movie into blocks, and how many of them may be in memory simultaneously.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

namespace glint {

struct BlockPlan {
    int frames = 1;  ///< per block
    int blocks = 1;  ///< in flight at most
};

/// Blocks large enough to fill the fit's vectors and small enough for the cache and for every thread to get some;
/// all in flight together take at most `memory_bytes`, unless one frame alone takes more.
BlockPlan plan_blocks(std::size_t frame_bytes, std::int64_t frames, int threads, std::size_t memory_bytes);

/// The same for a GPU: blocks that fill the link and the GPU, one for each thread and some ahead.
BlockPlan plan_gpu_blocks(std::size_t frame_bytes, std::int64_t frames, int threads, std::size_t memory_bytes);

/// Returns the maximum number of frames in such a block.
int most_frames_of_gpu_block(std::size_t frame_bytes);

/// Blocks that are in the GPU's memory alone, each of at most `block_bytes` unless one frame takes more.
BlockPlan plan_uploaded_blocks(std::size_t frame_bytes, std::int64_t frames, int threads, std::size_t block_bytes);

}  // namespace glint
