// Numbers that are processed in parallel and received in order.
// SPDX-License-Identifier: MIT
#include "base/in_order.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "tests/on_threads.hpp"

using namespace glint;
using test::on_threads;

TEST(InOrder, all_are_taken_once_in_order_and_few_at_a_time) {
    for (const int threads : {1, 2, 5})
        for (const std::size_t count : {0, 1, 2, 1000}) {
            std::atomic<int> in_flight{0}, most{0};
            std::vector<std::size_t> taken;
            const auto make = [&](std::size_t k, std::size_t& made) {
                const int now = ++in_flight;
                for (int before = most; before < now && !most.compare_exchange_weak(before, now);) {
                }
                made = k * k;
            };
            const auto take = [&](std::size_t k, std::size_t& made) {
                EXPECT_EQ(made, k * k);
                taken.push_back(k), --in_flight;
            };
            on_threads(threads, [&] { made_in_order<std::size_t>(count, make, take); });
            std::vector<std::size_t> all(count);
            std::iota(all.begin(), all.end(), std::size_t(0));
            EXPECT_EQ(taken, all);
            EXPECT_LE(most, 2 * threads);
        }
}

TEST(InOrder, an_error_ends_it_and_nothing_behind_it_is_taken) {
    for (const int threads : {1, 5}) {
        std::size_t taken = 0;
        const auto make = [](std::size_t k, int&) {
            if (k == 40) throw std::runtime_error("40");
        };
        on_threads(threads, [&] {
            EXPECT_THROW(made_in_order<int>(1000, make, [&](std::size_t k, int&) { taken = k; }), std::runtime_error);
            EXPECT_LT(taken, 40u);
            const auto full = [&](std::size_t k, int&) {
                if (k == 10) throw std::runtime_error("full");
                taken = k;
            };
            EXPECT_THROW(made_in_order<int>(
                             1000, [](std::size_t, int&) {}, full),
                         std::runtime_error);
        });
        EXPECT_EQ(taken, 9u);
    }
}
