// Only the decision: the order in which requests start, their GPUs, and that no grant exceeds the free memory.
// SPDX-License-Identifier: MIT
#include "gpu/lease/policy.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <random>

#include "tests/policy_snapshots.hpp"

using namespace glint::gpu::lease;
using namespace glint::gpu::lease::test;

TEST(LeasePolicy, takes_a_gpu_when_nobody_is_there) {
    const Decision d = only(server(1), wants(8));
    EXPECT_EQ(d.gpus, 1u);
    EXPECT_EQ(d.place, 0);
    EXPECT_TRUE(plan(server(2), {}, 0).empty());
}

TEST(LeasePolicy, first_come_first_served) {
    Snapshot s = server(1);
    s.tickets = {wants(50), wants(50), wants(50)};
    const auto d = decide(s);
    EXPECT_EQ(d[0].gpus, 1u);
    EXPECT_EQ(d[1].gpus, 0u);
    EXPECT_EQ(d[2].gpus, 0u);
    EXPECT_EQ(d[2].place, 2);
}

TEST(LeasePolicy, several_that_fit_run_at_once) {
    Snapshot s = server(1);
    s.tickets = {wants(30), wants(30), wants(30)};
    const auto d = decide(s);
    EXPECT_EQ(d[1].gpus, 1u);
    EXPECT_EQ(d[2].gpus, 0u);
}

TEST(LeasePolicy, a_small_one_passes_a_large_one_that_cannot_run) {
    Snapshot s = server(1);
    lease_on(s, 0, 40 * gib, true);
    s.tickets = {wants(60), wants(10)};
    EXPECT_EQ(decide(s)[0].gpus, 0u);
    EXPECT_EQ(decide(s)[1].gpus, 1u);
}

TEST(LeasePolicy, the_best_gpu_and_not_the_first) {
    Snapshot s = server(3);
    lease_on(s, 0, 10 * gib, true);
    lease_on(s, 1, 5 * gib, false);
    EXPECT_EQ(only(s, wants(8)).gpus, 4u) << "the empty one";
    lease_on(s, 2, 20 * gib, true);
    EXPECT_EQ(only(s, wants(8)).gpus, 2u) << "the one with the most room";
    lease_on(s, 1, 1 * gib, true);
    EXPECT_EQ(only(s, wants(8)).gpus, 1u) << "the one with the fewest that share it";
    s.tickets.assign(6, wants(8));
    GpuSet all = 0;
    Snapshot empty = server(3);
    empty.tickets.assign(3, wants(8));
    for (const Decision& d : decide(empty)) all |= d.gpus;
    EXPECT_EQ(all, 7u) << "each gets one of its own";
}

TEST(LeasePolicy, a_gpu_with_few_sharers_and_not_one_with_more_room) {
    Snapshot s = server(2);
    lease_on(s, 0, 60 * gib, true);
    for (int k = 0; k < 2; ++k) lease_on(s, 1, 5 * gib, true);
    EXPECT_EQ(only(s, wants(8)).gpus, 1u) << "the others there would have a third of the computing time each";
    EXPECT_EQ(only(s, wants(30)).gpus, 2u) << "where it fits";
}

TEST(LeasePolicy, several_gpus_in_one_request_all_or_none) {
    Snapshot s = server(4);
    lease_on(s, 1, 70 * gib, true);
    EXPECT_EQ(only(s, wants(20, 3)).gpus, 0b1101u);
    EXPECT_EQ(only(s, wants(20, 4)).gpus, 0u);
    EXPECT_EQ(only(s, wants(20, 5)).gpus, 0u);
    Ticket few = wants(20, 2);
    few.candidates = 0b1010;
    EXPECT_EQ(only(s, few).gpus, 0u);
    few.candidates = 0b1100;
    EXPECT_EQ(only(s, few).gpus, 0b1100u);
}

TEST(LeasePolicy, a_request_for_several_gpus_is_informed_of_one_that_it_waits_for) {
    Snapshot s = server(3);
    lease_on(s, 1, 70 * gib, true);
    const Decision d = only(s, wants(20, 3));
    EXPECT_EQ(d.gpus, 0u);
    EXPECT_EQ(d.gpu, 1) << "the others are free";
    EXPECT_EQ(d.obstacle, Obstacle::memory);
}

TEST(LeasePolicy, a_user_may_be_bounded_and_holds_up_nobody_else) {
    Rules rules;
    rules.max_shares_per_user = 2;
    Snapshot s = server(4);
    lease_on(s, 0, gib, true, me);
    s.tickets = {wants(1), wants(1), {somebody, gib, 1}, {somebody, gib, 2}};
    const auto d = decide(s, rules);
    EXPECT_NE(d[0].gpus, 0u);
    EXPECT_EQ(d[1].obstacle, Obstacle::user_limit);
    EXPECT_NE(d[2].gpus, 0u);
    EXPECT_EQ(d[3].obstacle, Obstacle::user_limit) << "one and two more";
    s.tickets = {wants(1, 2, 99), {somebody, gib, 1}};
    EXPECT_NE(decide(s, rules)[1].gpus, 0u);
    EXPECT_EQ(decide(s, rules)[1].place, 0);
}

TEST(LeasePolicy, looks_at_a_window_of_each_users_tickets) {
    Snapshot s = server(1);
    s.gpus[0].free_bytes = 10 * gib;
    lease_on(s, 0, 0, true);
    s.reservations[0].held_bytes = s.reservations[0].reserved_bytes = 70 * gib;
    s.tickets.assign(std::size_t(Rules().window), wants(60));
    s.tickets.push_back(wants(1));
    EXPECT_EQ(decide(s).back().obstacle, Obstacle::others_first);
    EXPECT_FALSE(decide(s).back().near);
    s.tickets.push_back({somebody, gib, 1});
    EXPECT_EQ(decide(s).back().gpus, 1u) << "another user's";
    EXPECT_EQ(decide(s).back().place, Rules().window);
    s.tickets.pop_back();
    s.tickets.erase(s.tickets.begin());
    EXPECT_EQ(decide(s).back().gpus, 1u);
    EXPECT_TRUE(decide(s).back().near);
    EXPECT_EQ(plan(s, {}, 3).size(), 4u);
}

// For any snapshot, the sum of all grants never exceeds the free memory.
TEST(LeasePolicy, never_grants_what_is_not_there) {
    std::mt19937_64 random(7);
    const auto below = [&](std::uint64_t n) { return random() % n; };
    for (int round = 0; round < 3000; ++round) {
        Snapshot s = server(1 + int(below(8)));
        for (Gpu& gpu : s.gpus) {
            gpu.free_bytes = below(gpu.total_bytes + 1);
            gpu.processes = int(below(4));
            gpu.utilization_percent = int(below(101));
            gpu.mode = ComputeMode(below(8) < 6 ? 0 : below(3));
        }
        for (std::uint64_t n = below(12); n > 0; --n)
            s.reservations.push_back({int(below(10)) - 1, std::uint32_t(below(3)), below(40) * gib, below(40) * gib});
        for (std::uint64_t n = 1 + below(24); n > 0; --n)
            s.tickets.push_back(
                {std::uint32_t(below(3)), below(60) * gib, int(1 + below(3)), random(), int(below(12))});
        Rules rules;
        rules.max_shares_per_user = int(below(2) * 6);
        const auto decisions = decide(s, rules);
        EXPECT_EQ(decisions.size(), s.tickets.size());
        for (std::size_t g = 0; g < s.gpus.size(); ++g) {
            std::uint64_t promised = 0, granted = 0;
            for (const Reservation& r : s.reservations)
                if (r.gpu == int(g) && r.reserved_bytes > r.held_bytes) promised += r.reserved_bytes - r.held_bytes;
            for (std::size_t t = 0; t < decisions.size(); ++t)
                if (decisions[t].gpus >> g & 1) {
                    granted += s.tickets[t].need_bytes + context;
                    EXPECT_TRUE(s.tickets[t].candidates >> g & 1);
                    EXPECT_NE(s.gpus[g].mode, ComputeMode::prohibited);
                    EXPECT_EQ(std::popcount(decisions[t].gpus), s.tickets[t].gpus);
                    EXPECT_TRUE(still_fits(s, rules, s.tickets[t], decisions[t].gpus));
                }
            if (granted) {
                EXPECT_LE(promised + granted, s.gpus[g].free_bytes) << "round " << round;
            }
        }
        const auto again = decide(s, rules);
        for (std::size_t t = 0; t < decisions.size(); ++t) EXPECT_EQ(decisions[t].gpus, again[t].gpus);
    }
}
