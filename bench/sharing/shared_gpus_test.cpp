// Tests of shares of time, memory accounting and the cost of contexts against values computed by hand.
// SPDX-License-Identifier: MIT
#include "bench/sharing/shared_gpus.hpp"

#include <gtest/gtest.h>

#include "bench/sharing/context_costs.hpp"

using namespace glint::sharing;

namespace {

constexpr std::uint64_t gib = std::uint64_t(1) << 30;

void expect_next(SharedGpus& gpus, double at_s, int job) {
    const auto next = gpus.next();
    ASSERT_TRUE(next);
    EXPECT_NEAR(next->at_s, at_s, 1e-9);
    EXPECT_EQ(next->job, job);
    gpus.end(next->at_s, next->job);
}

}  // namespace

TEST(SharedGpus, contexts_cost_what_was_measured) {
    EXPECT_DOUBLE_EQ(min_creation_s(), 0.165) << "0.11 to 0.22 s";
    EXPECT_DOUBLE_EQ(context_creation_s(16, 1), 0.25);
    EXPECT_DOUBLE_EQ(context_creation_s(32, 1), 0.37);
    EXPECT_DOUBLE_EQ(context_creation_s(64, 1), (0.37 + 0.82) / 2);
    EXPECT_DOUBLE_EQ(context_creation_s(96, 1), 0.82);
    EXPECT_DOUBLE_EQ(context_creation_s(0, 8), 0.9);
    EXPECT_DOUBLE_EQ(context_creation_s(31, 32), 5.0);
    EXPECT_DOUBLE_EQ(context_creation_s(0, 128), 28.5) << "22 to 35 s";
    EXPECT_GT(context_creation_s(0, 1000), 28.5) << "nobody has measured that";
}

TEST(SharedGpus, who_computes_alone_has_all_and_two_have_half) {
    SharedGpus gpus(1, gib);
    gpus.begin_computing(0, 0, 1, 10);
    gpus.begin_computing(4, 1, 1, 2);
    expect_next(gpus, 8, 1);   // 2 s of work at half the speed
    expect_next(gpus, 12, 0);  // 4 s alone, 4 s at half the speed, 4 s alone
    EXPECT_FALSE(gpus.next());
}

TEST(SharedGpus, a_foreign_process_that_computes_has_its_share) {
    SharedGpus gpus(2, gib);
    gpus.begin_computing(0, 0, 1, 10);
    gpus.foreign_process_computes(2, 0, 1);
    gpus.foreign_process_computes(2, 1, 1);
    gpus.foreign_process_computes(8, 0, -1);
    expect_next(gpus, 13, 0);  // 2 s alone, 6 s at half the speed, 5 s alone
    EXPECT_DOUBLE_EQ(gpus.idle_s(14), 1 + 2) << "GPU 0 after 13 s, GPU 1 before 2 s";
}

// Job 0 runs on GPUs 0 and 1. Two other jobs are on GPU 0, so job 0 gets a third of it, and leaves two thirds of GPU 1.
TEST(SharedGpus, a_job_on_several_gpus_goes_at_the_pace_of_the_slowest_and_leaves_the_rest) {
    SharedGpus gpus(2, gib);
    gpus.begin_computing(0, 0, 3, 10);
    gpus.begin_computing(0, 1, 1, 5);
    gpus.begin_computing(0, 2, 1, 5);
    gpus.begin_computing(0, 3, 2, 8);
    expect_next(gpus, 12, 3);
    expect_next(gpus, 15, 1);
    expect_next(gpus, 15, 2);
    expect_next(gpus, 20, 0);
}

TEST(SharedGpus, contexts_that_are_created_at_once_hold_each_other_up) {
    SharedGpus gpus(2, 140 * gib);
    for (int job = 0; job < 8; ++job) gpus.begin_creation(0, job, 0);
    gpus.begin_creation(0, 8, 1);
    expect_next(gpus, 0.165, 8);
    for (int job = 0; job < 8; ++job) gpus.end(gpus.next()->at_s, gpus.next()->job);
    EXPECT_FALSE(gpus.next());
    gpus.begin_creation(1, 0, 0);
    for (int k = 0; k < 16; ++k) EXPECT_TRUE(gpus.take_context(1.1, 0));  // each slows down the next
    expect_next(gpus, 1.1 + (1 - 0.1 / 0.165) * 0.25, 0);
}

TEST(SharedGpus, memory_and_contexts_have_an_end) {
    SharedGpus gpus(2, 60 * gib);
    EXPECT_TRUE(gpus.take(0, 60 * gib));
    EXPECT_FALSE(gpus.take(0, 1));
    EXPECT_FALSE(gpus.take_context(0, 0));
    gpus.give(0, context_bytes);
    EXPECT_TRUE(gpus.take_context(0, 0));
    EXPECT_EQ(gpus.gpus()[0].free_bytes, 0u);
    gpus.give_context(0, 0);
    EXPECT_EQ(gpus.gpus()[0].free_bytes, context_bytes);
    int contexts = 0;
    while (gpus.take_context(0, 1)) ++contexts;
    EXPECT_EQ(contexts, max_contexts);
}
