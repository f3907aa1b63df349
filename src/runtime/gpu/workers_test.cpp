// The threads that copy host memory.
// SPDX-License-Identifier: MIT
#include "gpu/workers.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

using glint::gpu::Workers;

TEST(Workers, share_the_work_and_all_return) {
    Workers workers(3);
    for (int round = 0; round < 200; ++round) {
        std::atomic<int> next{0}, done{0};
        workers.run(3, [&] {
            while (next++ < 100) ++done;
        });
        EXPECT_EQ(done, 100);
    }
}

TEST(Workers, several_callers_do_not_wait_for_each_other) {
    Workers workers(2);
    std::atomic<int> done{0};
    std::vector<std::thread> callers;
    for (int k = 0; k < 4; ++k)
        callers.emplace_back([&] {
            for (int round = 0; round < 100; ++round) {
                std::atomic<int> next{0};
                workers.run(2, [&] {
                    while (next++ < 10) ++done;
                });
            }
        });
    for (std::thread& caller : callers) caller.join();
    EXPECT_EQ(done, 4 * 100 * 10);
}

TEST(Workers, an_error_reaches_the_caller) {
    Workers workers(2);
    EXPECT_THROW(workers.run(2, [] { throw std::runtime_error("lost"); }), std::runtime_error);
    std::atomic<int> calls{0};
    workers.run(0, [&] { ++calls; });
    EXPECT_EQ(calls, 1);
}

TEST(Workers, more_come_up_to_a_limit_while_others_work) {
    Workers workers(1);
    std::atomic<int> together{0};
    std::thread caller([&] {
        for (int round = 0; round < 100; ++round) workers.run(1, [] {});
    });
    workers.add(5, 4);
    workers.add(5, 4);
    caller.join();
    workers.run(100, [&] {
        ++together;
        while (together < 5) std::this_thread::yield();  // this one and the four
    });
    EXPECT_EQ(together, 5);
}
