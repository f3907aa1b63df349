// The threads that copy host memory.
// SPDX-License-Identifier: MIT
#include "gpu/thread_pool.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

using glint::gpu::ThreadPool;

TEST(ThreadPool, share_the_work_and_all_return) {
    ThreadPool pool(3);
    for (int round = 0; round < 200; ++round) {
        std::atomic<int> next{0}, done{0};
        pool.run(3, [&] {
            while (next++ < 100) ++done;
        });
        EXPECT_EQ(done, 100);
    }
}

TEST(ThreadPool, several_callers_do_not_wait_for_each_other) {
    ThreadPool pool(2);
    std::atomic<int> done{0};
    std::vector<std::thread> callers;
    for (int k = 0; k < 4; ++k)
        callers.emplace_back([&] {
            for (int round = 0; round < 100; ++round) {
                std::atomic<int> next{0};
                pool.run(2, [&] {
                    while (next++ < 10) ++done;
                });
            }
        });
    for (std::thread& caller : callers) caller.join();
    EXPECT_EQ(done, 4 * 100 * 10);
}

TEST(ThreadPool, an_error_reaches_the_caller) {
    ThreadPool pool(2);
    EXPECT_THROW(pool.run(2, [] { throw std::runtime_error("lost"); }), std::runtime_error);
    std::atomic<int> calls{0};
    pool.run(0, [&] { ++calls; });
    EXPECT_EQ(calls, 1);
}

TEST(ThreadPool, more_come_up_to_a_limit_while_others_work) {
    ThreadPool pool(1);
    std::atomic<int> together{0};
    std::thread caller([&] {
        for (int round = 0; round < 100; ++round) pool.run(1, [] {});
    });
    pool.add(5, 4);
    pool.add(5, 4);
    caller.join();
    pool.run(100, [&] {
        ++together;
        while (together < 5) std::this_thread::yield();  // this thread and the four others
    });
    EXPECT_EQ(together, 5);
}
