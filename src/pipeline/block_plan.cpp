// Cutting a movie into blocks.
// SPDX-License-Identifier: MIT
#include "pipeline/block_plan.hpp"

#include <algorithm>

namespace glint {
namespace {

constexpr std::size_t block_bytes = std::size_t(4) << 20;
constexpr std::int64_t block_frames = 256;
// Blocks per thread: one at work, one read ahead, and one waiting for its turn to be written.
constexpr std::size_t blocks_per_thread = 3;

}  // namespace

BlockPlan plan_blocks(std::size_t frame_bytes, std::int64_t frames, int threads, std::size_t memory_bytes) {
    const std::size_t bytes = std::max<std::size_t>(frame_bytes, 1);
    const std::size_t wanted = std::max(1, threads) * blocks_per_thread;
    const std::size_t blocks = std::clamp<std::size_t>(memory_bytes / bytes, 1, wanted);
    const std::size_t fitting = std::min(block_bytes, memory_bytes / blocks) / bytes;
    const std::int64_t share = frames / (4 * std::max(1, threads));
    const std::int64_t most = std::clamp<std::int64_t>(share, 1, block_frames);
    return {int(std::clamp<std::int64_t>(std::int64_t(fitting), 1, most)), int(blocks)};
}

}  // namespace glint
