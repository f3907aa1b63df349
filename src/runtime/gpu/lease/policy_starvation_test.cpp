// How often a request may be overtaken, and the memory that is then reserved for it.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <random>

#include "tests/policy_snapshots.hpp"

using namespace glint::gpu::lease;
using namespace glint::gpu::lease::test;

TEST(LeasePolicy, after_the_bound_no_later_ticket_delays_an_overtaken_one) {
    Snapshot s = server(1);
    lease_on(s, 0, 40 * gib, true);
    s.tickets = {wants(60, 1, Rules().max_passes - 1), wants(30)};
    EXPECT_EQ(decide(s)[1].gpus, 1u);
    s.tickets[0].passes = Rules().max_passes;
    EXPECT_EQ(decide(s)[1].gpus, 0u);
    EXPECT_EQ(decide(s)[1].obstacle, Obstacle::others_first);
    s.tickets[1].need_bytes = 19 * gib;  // with two contexts: what 60 GiB leave of 80
    EXPECT_EQ(decide(s)[1].gpus, 1u) << "both will have room once the lease is gone";
    s.tickets = {wants(60, 1, 99), wants(10), wants(10)};
    EXPECT_EQ(decide(s)[1].gpus, 1u);
    EXPECT_EQ(decide(s)[2].gpus, 0u) << "10 and 10 are in the way";
}

TEST(LeasePolicy, who_came_later_counts_as_in_the_way_and_who_came_before_does_not) {
    for (const bool came_later : {false, true}) {
        Snapshot s = server(1);
        lease_on(s, 0, 30 * gib, true);
        lease_on(s, 0, 12 * gib, false);
        s.reservations[1].arrived_ns = came_later ? 3 : 1;
        s.tickets = {wants(60, 1, 99), wants(10)};
        s.tickets[0].arrived_ns = 2;
        EXPECT_EQ(decide(s)[1].gpus, came_later ? 0u : 1u);
    }
}

TEST(LeasePolicy, keeps_only_as_many_gpus_as_were_asked_for_and_those_with_the_most_room) {
    Snapshot s = server(3);
    lease_on(s, 0, 40 * gib, true);
    lease_on(s, 1, 30 * gib, true);
    lease_on(s, 2, 50 * gib, true);
    s.tickets = {wants(60, 1, 99), wants(25), wants(45)};
    const auto d = decide(s);
    EXPECT_EQ(d[1].gpus, 1u) << "GPU 1 is kept";
    EXPECT_EQ(d[2].gpus, 0u);
    s.tickets = {wants(60, 2, 99), wants(25)};
    EXPECT_EQ(decide(s)[1].gpus, 4u) << "GPUs 0 and 1 are kept";
    s.tickets = {wants(60, 1, 99), wants(70, 1, 99), wants(25)};
    EXPECT_EQ(decide(s)[2].gpus, 4u) << "one each";
}

TEST(LeasePolicy, keeps_a_gpu_where_only_those_are_in_the_way_who_came_before) {
    Snapshot s = server(2);
    lease_on(s, 0, 50 * gib, true);
    lease_on(s, 1, 60 * gib, true);
    s.reservations[0].arrived_ns = s.reservations[1].arrived_ns = 1;
    s.tickets = {wants(60, 1, 99), wants(25), wants(15)};
    s.tickets[0].arrived_ns = 2;
    EXPECT_EQ(decide(s)[1].gpus, 0u) << "GPU 0 is kept";
    s.reservations[0].arrived_ns = 3;
    EXPECT_EQ(decide(s)[1].gpus, 1u) << "GPU 1 is kept";
    s.reservations[1].arrived_ns = 3;
    EXPECT_EQ(decide(s)[1].gpus, 0u) << "GPU 0 is kept";
    EXPECT_EQ(decide(s)[2].gpus, 2u);
}

TEST(LeasePolicy, keeps_a_context_too) {
    Snapshot s = server(1);
    s.gpus[0].max_contexts = 3;
    lease_on(s, 0, 40 * gib, true);
    s.tickets = {wants(60, 1, 99), wants(1), wants(1)};
    EXPECT_EQ(decide(s)[1].gpus, 1u);
    EXPECT_EQ(decide(s)[2].obstacle, Obstacle::others_first);
    s.gpus[0].mode = ComputeMode::exclusive_process;
    s.tickets = {wants(10, 1, 99), wants(1)};
    EXPECT_EQ(decide(s)[1].obstacle, Obstacle::others_first);
}

TEST(LeasePolicy, reserves_with_headroom_beside_foreign_processes) {
    Snapshot s = server(1);
    foreign_process_on(s, 0, gib, 0);
    lease_on(s, 0, 40 * gib, true);
    s.tickets = {wants(40, 1, 99), {me, 18 * gib, 1}};  // 60.25 GiB will have to be free for 40 of 80
    EXPECT_EQ(decide(s)[1].gpus, 1u);
    s.tickets[1].need_bytes += gib / 2;
    EXPECT_EQ(decide(s)[1].obstacle, Obstacle::others_first);
}

TEST(LeasePolicy, reserves_nothing_where_only_a_foreign_process_blocks) {
    Snapshot s = server(1);
    foreign_process_on(s, 0, 50 * gib, 0);
    s.tickets = {wants(60, 1, 99), wants(10)};
    EXPECT_EQ(decide(s)[1].gpus, 1u);
}

// Small requests arrive without end and would always fit; nevertheless, the large one runs. Small requests that would
// block it may overtake it only a bounded number of times.
TEST(LeasePolicy, nobody_starves) {
    std::mt19937 random(1);
    int max_passed = 0;
    for (const std::uint64_t small : {20, 8})
        for (int gpus = 1; gpus <= 3; ++gpus) {
            Snapshot s = server(gpus);
            std::vector<std::pair<int, Reservation>> running;  // running leases with their end times
            Ticket large = wants(70, gpus);
            large.arrived_ns = 1;
            int now = 0, passed = 0;
            const auto start = [&](GpuSet on, std::uint64_t arrived_ns) {
                const std::uint64_t bytes = small * gib + context;
                for (int g = 0; g < gpus; ++g)
                    if (on >> g & 1) {
                        running.push_back({now + 3 + int(random() % 5), {g, me, bytes, bytes, 0, arrived_ns}});
                        s.gpus[std::size_t(g)].free_bytes -= bytes, ++s.gpus[std::size_t(g)].processes;
                    }
            };
            for (int g = 0; g < gpus; ++g) start(GpuSet(1) << g, 0);
            for (bool done = false; !done; ++now) {
                ASSERT_LT(now, 1000);
                std::erase_if(running, [&](const auto& r) {
                    if (r.first > now) return false;
                    Gpu& gpu = s.gpus[std::size_t(r.second.gpu)];
                    gpu.free_bytes += r.second.held_bytes, --gpu.processes;
                    return true;
                });
                for (bool any = true; any && !done;) {
                    s.reservations.clear();
                    for (const auto& r : running) s.reservations.push_back(r.second);
                    large.passes = passed;
                    s.tickets = {large, wants(small)};
                    s.tickets[1].arrived_ns = 2;
                    const auto d = decide(s);
                    any = d[1].gpus != 0;
                    done = d[0].gpus != 0;
                    if (!done && any) start(d[1].gpus, 2), ++passed;
                }
            }
            max_passed = std::max(max_passed, passed);
            if (small == 20) {
                EXPECT_LE(passed, Rules().max_passes + 3 * gpus * 8) << gpus;
            }
        }
    EXPECT_GE(max_passed, Rules().max_passes) << "passed as often as allowed";
}

// Small requests that fit beside the large one keep arriving and stay long. The large one starts when the leases before
// it have ended.
TEST(LeasePolicy, an_overtaken_ticket_at_the_limit_waits_for_no_later_one) {
    std::mt19937 random(3);
    for (int round = 0; round < 50; ++round) {
        struct Running {
            int until;
            Reservation has;
        };
        std::vector<Running> running;
        int earlier_until = 0, passed = 0, now = 0;
        std::uint64_t held = 0;
        for (std::uint64_t bytes = 0; (bytes = (5 + random() % 15) * gib) + held <= 80 * gib; held += bytes) {
            running.push_back({1 + int(random() % 40), {0, me, bytes, bytes, 0, 1}});
            earlier_until = std::max(earlier_until, running.back().until);
        }
        for (bool begun = false; !begun; ++now) {
            ASSERT_LT(now, 1000);
            std::erase_if(running, [&](const Running& r) { return r.until <= now; });
            Snapshot s = server(1);
            for (const Running& r : running) lease_on(s, 0, r.has.held_bytes, true), s.reservations.back() = r.has;
            s.tickets = {{me, 60 * gib, 1, every_gpu, 99, 2}};
            s.tickets.resize(8, {somebody, 4 * gib, 1, every_gpu, 0, 3});
            const auto d = decide(s);
            begun = d[0].gpus != 0;
            for (std::size_t t = 1; t < d.size(); ++t)
                if (d[t].gpus) {
                    const std::uint64_t bytes = s.tickets[t].need_bytes + context;
                    running.push_back({now + 5 + int(random() % 90), {0, somebody, bytes, bytes, 0, 3}}), ++passed;
                }
        }
        EXPECT_LE(now - 1, earlier_until) << "round " << round;
        EXPECT_GT(passed, 0) << "round " << round;
    }
}
