// Splits a movie into blocks.
// SPDX-License-Identifier: MIT
#include "pipeline/block_plan.hpp"

#include <algorithm>

namespace glint {
namespace {

constexpr std::size_t block_bytes = std::size_t(4) << 20;
constexpr std::int64_t block_frames = 256;
// Blocks per thread: one in work, one read ahead, and one waiting to be written.
constexpr std::size_t blocks_per_thread = 3;
constexpr std::size_t gpu_block_bytes = std::size_t(16) << 20;  // an upload of 0.3 ms
constexpr std::int64_t gpu_block_frames = 4096;
constexpr std::size_t gpu_blocks_ahead = 4;

BlockPlan plan(std::size_t frame_bytes, std::int64_t max_frames, std::size_t max_bytes, std::size_t wanted_blocks,
               std::size_t memory_bytes) {
    const std::size_t bytes = std::max<std::size_t>(frame_bytes, 1);
    const std::size_t blocks = std::clamp<std::size_t>(memory_bytes / bytes, 1, wanted_blocks);
    const std::size_t fitting = std::min(max_bytes, memory_bytes / blocks) / bytes;
    return {int(std::clamp<std::int64_t>(std::int64_t(fitting), 1, max_frames)), int(blocks)};
}

std::size_t gpu_blocks(int threads) { return std::size_t(std::max(1, threads)) + gpu_blocks_ahead; }

std::int64_t max_gpu_frames(std::int64_t frames, int threads) {
    return std::clamp<std::int64_t>(frames / (2 * std::max(1, threads)), 1, gpu_block_frames);
}

}  // namespace

BlockPlan plan_blocks(std::size_t frame_bytes, std::int64_t frames, int threads, std::size_t memory_bytes) {
    const std::int64_t share = frames / (4 * std::max(1, threads));
    return plan(frame_bytes, std::clamp<std::int64_t>(share, 1, block_frames), block_bytes,
                std::size_t(std::max(1, threads)) * blocks_per_thread, memory_bytes);
}

BlockPlan plan_gpu_blocks(std::size_t frame_bytes, std::int64_t frames, int threads, std::size_t memory_bytes) {
    return plan(frame_bytes, max_gpu_frames(frames, threads), gpu_block_bytes, gpu_blocks(threads), memory_bytes);
}

int max_frames_of_gpu_block(std::size_t frame_bytes) {
    return int(std::clamp<std::size_t>(gpu_block_bytes / std::max<std::size_t>(frame_bytes, 1), 1, gpu_block_frames));
}

BlockPlan plan_uploaded_blocks(std::size_t frame_bytes, std::int64_t frames, int threads, std::size_t block_bytes) {
    const BlockPlan one = plan(frame_bytes, max_gpu_frames(frames, threads), gpu_block_bytes, 1, block_bytes);
    return {one.frames, int(gpu_blocks(threads))};
}

}  // namespace glint
