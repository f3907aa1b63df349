// Tests of the row queue: no row is assigned twice or lost, and all devices finish together.
// SPDX-License-Identifier: MIT
#include "fit/row_queue.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <numeric>
#include <random>
#include <thread>

#include "glint/error.hpp"

namespace glint {
namespace {

/// A simulated GpuFitter: four batches in flight, on a simulated clock.
struct VirtualGpu {
    double rows_per_s, starts_s;
    double busy_until_s = 0;
    std::int64_t done = 0;
    std::deque<double> ends{};  // end times of the batches in flight

    double next_s() const { return ends.size() < 4 ? starts_s : ends.front(); }
};

/// Empties the queue; returns the time at which the last device finishes.
double run(RowQueue& queue, std::vector<VirtualGpu>& gpus, std::int64_t batch) {
    for (;;) {
        const auto gpu =
            std::min_element(gpus.begin(), gpus.end(), [](auto& a, auto& b) { return a.next_s() < b.next_s(); });
        const double now_s = gpu->next_s();
        if (gpu->ends.size() == 4) gpu->ends.pop_front();
        gpu->starts_s = now_s;
        const RowRange rows = queue.take(batch);
        if (rows.empty()) break;
        gpu->busy_until_s = std::max(gpu->busy_until_s, now_s) + double(rows.count()) / gpu->rows_per_s;
        gpu->ends.push_back(gpu->busy_until_s);
        gpu->done += rows.count();
        queue.finish(rows.count());
    }
    double end_s = 0;
    for (const VirtualGpu& gpu : gpus) end_s = std::max(end_s, gpu.busy_until_s);
    return end_s;
}

}  // namespace

TEST(RowQueue, one_alone_gets_what_it_asks_for_in_order) {
    RowQueue queue({3, 1000});
    EXPECT_EQ(queue.left(), 997);
    std::int64_t next = 3;
    for (RowRange rows; !(rows = queue.take(96)).empty(); next = rows.end) {
        EXPECT_EQ(rows.first, next);
        EXPECT_EQ(rows.end, std::min<std::int64_t>(1000, next + 96));
        queue.finish(rows.count());
    }
    EXPECT_EQ(next, 1000);
    EXPECT_TRUE(queue.is_finished());
}

TEST(RowQueue, equal_gpus_get_equal_parts) {
    constexpr std::int64_t n = 20'000'000, batch = 1 << 18;
    for (const int count : {2, 4, 8}) {
        SCOPED_TRACE(count);
        RowQueue queue({0, n}, count);
        std::vector<VirtualGpu> gpus;
        for (int k = 0; k < count; ++k) gpus.push_back({2.5e8, 1e-4 * k});
        const double end_s = run(queue, gpus, batch);
        for (const VirtualGpu& gpu : gpus) EXPECT_NEAR(double(gpu.done), double(n) / count, 0.05 * double(n) / count);
        EXPECT_LT(end_s, 1.05 * double(n) / 2.5e8 / count);
    }
}

TEST(RowQueue, each_gets_as_much_as_it_is_fast_and_all_end_together) {
    constexpr std::int64_t n = 20'000'000, batch = 1 << 18;
    RowQueue queue({0, n}, 4);
    std::vector<VirtualGpu> gpus{{1e8, 0}, {2e8, 0}, {3e8, 0}, {4e8, 0}};
    run(queue, gpus, batch);
    const double ideal_s = double(n) / 1e9;
    for (const VirtualGpu& gpu : gpus) EXPECT_NEAR(gpu.busy_until_s, ideal_s, 0.05 * ideal_s);
}

TEST(RowQueue, a_late_device_joins_in) {
    constexpr std::int64_t n = 100'000'000;
    RowQueue queue({0, n}, 2);
    std::vector<VirtualGpu> gpus{{2.5e8, 0}, {2.5e8, 0.2}};
    const double end_s = run(queue, gpus, 1 << 18);  // 0.4 s alone; 0.3 s with a second device from 0.2 s on
    EXPECT_NEAR(end_s, 0.3, 0.01);
}

TEST(RowQueue, returned_rows_go_to_the_next) {
    RowQueue queue({0, 100});
    RowShare lost(queue), other(queue);
    lost.finish(lost.take(10));
    lost.take(10), lost.take(10);
    EXPECT_EQ(queue.left(), 70);
    lost.give_back();
    EXPECT_EQ(queue.left(), 90);
    const RowRange again = other.take(100);  // merged with the remaining rows
    EXPECT_EQ(again.first, 10);
    EXPECT_EQ(again.end, 100);
    EXPECT_EQ(lost.finished(), 10);
    lost.give_back_finished();
    EXPECT_EQ(queue.finished(), 0);
    EXPECT_EQ(queue.left(), 10);
    other.finish(again);
    EXPECT_FALSE(queue.is_finished());
    other.finish(other.take(10));
    EXPECT_TRUE(queue.is_finished());
}

TEST(RowQueue, a_stop_and_a_close_end_the_waiting) {
    RowQueue queue({0, 10});
    RowShare busy(queue);
    busy.take(10);
    StopFlag stop{true};
    EXPECT_THROW(queue.wait_for_work(&stop), Cancelled);
    EXPECT_FALSE(queue.wait_for_end(0));
    queue.close();
    EXPECT_TRUE(queue.wait_for_end(1000));
    EXPECT_FALSE(queue.wait_for_work(nullptr));
    busy.give_back();
    EXPECT_TRUE(queue.take(10).empty());
}

// Eight threads take rows, sometimes fail, and wait. Every row is finished exactly once.
TEST(RowQueue, nothing_is_lost_and_nothing_done_twice) {
    constexpr std::int64_t n = 100'000;
    RowQueue queue({0, n}, 8);
    std::vector<std::atomic<int>> done(n);
    const auto work = [&](unsigned seed) {
        std::minstd_rand random(seed);
        RowShare share(queue);
        while (queue.wait_for_work(nullptr)) {
            const RowRange rows = share.take(500);
            if (rows.empty()) continue;
            if (random() % 4 == 0) {
                share.give_back();
                continue;
            }
            for (std::int64_t k = rows.first; k < rows.end; ++k) ++done[std::size_t(k)];
            share.finish(rows);
        }
    };
    std::vector<std::thread> threads;
    for (unsigned k = 1; k <= 8; ++k) threads.emplace_back(work, k);
    for (std::thread& thread : threads) thread.join();
    EXPECT_TRUE(queue.is_finished());
    EXPECT_TRUE(std::all_of(done.begin(), done.end(), [](const auto& times) { return times == 1; }));
}

}  // namespace glint
