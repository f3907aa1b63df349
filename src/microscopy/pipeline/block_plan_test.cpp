// Blocks in flight stay within their memory.
// SPDX-License-Identifier: MIT
#include "pipeline/block_plan.hpp"

#include <gtest/gtest.h>

using namespace glint;

TEST(BlockPlan, stays_within_its_memory_whenever_one_frame_does) {
    for (std::size_t frame_bytes : {1u, 2048u, 524288u, 8u << 20, 64u << 20, 300u << 20})
        for (std::int64_t frames : {1, 50, 100000})
            for (int threads : {1, 2, 64})
                for (std::size_t memory : {1u << 20, 64u << 20, 256u << 20}) {
                    const BlockPlan plan = plan_blocks(frame_bytes, frames, threads, memory);
                    ASSERT_GE(plan.frames, 1);
                    ASSERT_GE(plan.blocks, 1);
                    if (frame_bytes <= memory) {
                        EXPECT_LE(frame_bytes * std::size_t(plan.frames) * std::size_t(plan.blocks), memory);
                    }
                }
}

TEST(BlockPlan, keeps_every_thread_busy) {
    const BlockPlan plan = plan_blocks(2048, 1000, 2, std::size_t(256) << 20);
    EXPECT_GT(plan.blocks, 2);
    EXPECT_GE(1000 / plan.frames, 4) << "several blocks for each thread";
}
