// The decision alone: order, backfill and its bound, admission, and which GPU.
// SPDX-License-Identifier: MIT
#include "gpu/lease/policy.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <random>

using namespace glint::gpu::lease;

namespace {

constexpr std::uint64_t gib = std::uint64_t(1) << 30, context = gib / 2;
constexpr std::uint32_t me = 1000, somebody = 1001;

/// Empty GPUs of 80 GiB.
Snapshot server(int gpus) {
    Snapshot s;
    for (int g = 0; g < gpus; ++g) {
        Gpu gpu;
        gpu.uuid = "GPU-" + std::to_string(g);
        gpu.total_bytes = gpu.free_bytes = 80 * gib;
        gpu.context_bytes = context;
        gpu.utilization_percent = 0;
        s.gpus.push_back(gpu);
    }
    return s;
}

Ticket wants(std::uint64_t gibibytes, int gpus = 1, int passes = 0) {
    return {me, gibibytes * gib, gpus, every_gpu, passes};
}

/// A lease that has reserved but not yet taken anything, or (held) has taken all.
void lease_on(Snapshot& s, int g, std::uint64_t bytes, bool held, std::uint32_t uid = somebody) {
    s.reservations.push_back({g, uid, bytes, held ? bytes : 0});
    if (!held) return;
    s.gpus[std::size_t(g)].free_bytes -= bytes;
    ++s.gpus[std::size_t(g)].processes;
}

void foreign_process_on(Snapshot& s, int g, std::uint64_t bytes, int utilization) {
    Gpu& gpu = s.gpus[std::size_t(g)];
    gpu.free_bytes -= bytes;
    ++gpu.processes;
    gpu.utilization_percent = utilization;
}

std::vector<Decision> decide(const Snapshot& s, const Rules& rules = {}) {
    return plan(s, rules, s.tickets.empty() ? 0 : s.tickets.size() - 1);
}
Decision only(Snapshot s, const Ticket& ticket, const Rules& rules = {}) {
    s.tickets = {ticket};
    return decide(s, rules).at(0);
}

}  // namespace

TEST(LeasePolicy, takes_a_gpu_when_nobody_is_there) {
    const Decision d = only(server(1), wants(8));
    EXPECT_EQ(d.gpus, 1u);
    EXPECT_EQ(d.place, 0);
    EXPECT_TRUE(plan(server(2), {}, 0).empty());
}

TEST(LeasePolicy, counts_what_is_reserved_but_not_yet_taken) {
    Snapshot s = server(1);
    lease_on(s, 0, 30 * gib, false);
    s.reservations.push_back({0, somebody, 20 * gib, 15 * gib});
    s.gpus[0].free_bytes -= 15 * gib;
    // 80 - 15 taken - 30 and 5 to come = 30, with the context.
    EXPECT_EQ(only(s, {me, 30 * gib - context, 1}).gpus, 1u);
    const Decision d = only(s, {me, 30 * gib - context + 1, 1});
    EXPECT_EQ(d.gpus, 0u);
    EXPECT_EQ(d.obstacle, Obstacle::memory);
    EXPECT_EQ(d.available_bytes, 30 * gib);
    EXPECT_EQ(d.required_bytes, 30 * gib + 1);
    EXPECT_EQ(d.gpu, 0);
}

TEST(LeasePolicy, a_holder_that_took_more_than_it_reserved_frees_nothing) {
    Snapshot s = server(1);
    s.reservations = {{0, somebody, 10 * gib, 60 * gib}, {0, somebody, 10 * gib, 0}};
    s.gpus[0].free_bytes = 20 * gib;
    EXPECT_EQ(only(s, wants(9)).gpus, 1u);
    EXPECT_EQ(only(s, wants(10)).gpus, 0u);
}

TEST(LeasePolicy, amounts_that_overflow_leave_no_room) {
    Snapshot s = server(1);
    s.reservations.assign(3, {0, somebody, ~std::uint64_t(0) - 1, 0});
    EXPECT_EQ(only(s, wants(1)).gpus, 0u);
    EXPECT_EQ(only(server(1), {me, ~std::uint64_t(0), 1}).gpus, 0u);
}

TEST(LeasePolicy, all_processes_of_a_lease_are_its_own) {
    Snapshot s = server(1);
    lease_on(s, 0, 30 * gib, true);
    s.gpus[0].processes = 4;
    s.gpus[0].utilization_percent = 100;
    const Ticket ticket = wants(40);
    EXPECT_EQ(only(s, ticket).obstacle, Obstacle::foreign_processes)
        << "three foreign processes, and less than 1.5 times the need";
    s.reservations[0].more_contexts = 3;
    EXPECT_EQ(only(s, ticket).gpus, 1u);
    s.gpus[0].most_contexts = 4;
    EXPECT_EQ(only(s, ticket).obstacle, Obstacle::contexts);
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
    s.gpus[0].most_contexts = 3;
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

// Small requests arrive without end and would always fit; the large one runs all the same. Those that would be in its
// way pass it a bounded number of times.
TEST(LeasePolicy, nobody_starves) {
    std::mt19937 random(1);
    int most_passed = 0;
    for (const std::uint64_t small : {20, 8})
        for (int gpus = 1; gpus <= 3; ++gpus) {
            Snapshot s = server(gpus);
            std::vector<std::pair<int, Reservation>> running;  // until when
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
            most_passed = std::max(most_passed, passed);
            if (small == 20) {
                EXPECT_LE(passed, Rules().max_passes + 3 * gpus * 8) << gpus;
            }
        }
    EXPECT_GE(most_passed, Rules().max_passes) << "passed as often as may be";
}

// Small ones that it leaves room come all the time and stay for long; it begins when those are gone who came before it.
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

TEST(LeasePolicy, a_gpu_holds_so_many_contexts) {
    Snapshot s = server(1);
    s.gpus[0].most_contexts = 3;
    lease_on(s, 0, gib, true);
    lease_on(s, 0, gib, false);  // its context is yet to come
    EXPECT_EQ(only(s, wants(1)).gpus, 1u);
    foreign_process_on(s, 0, gib, 0);
    EXPECT_EQ(only(s, wants(1)).gpus, 0u);
    EXPECT_EQ(only(s, wants(1)).obstacle, Obstacle::contexts);
    Snapshot many = server(1);
    many.gpus[0].most_contexts = 5;
    many.tickets.assign(8, wants(1));
    int granted = 0;
    for (const Decision& d : decide(many)) granted += d.gpus != 0;
    EXPECT_EQ(granted, 5);
}

TEST(LeasePolicy, one_process_at_a_time_where_the_mode_says_so) {
    Snapshot s = server(2);
    for (Gpu& gpu : s.gpus) gpu.mode = ComputeMode::exclusive_process;
    foreign_process_on(s, 0, gib / 4, 0);
    s.tickets = {wants(1), wants(1)};
    const auto d = decide(s);
    EXPECT_EQ(d[0].gpus, 2u);
    EXPECT_EQ(d[1].gpus, 0u);
    EXPECT_EQ(d[1].obstacle, Obstacle::exclusive);
    s.gpus[0].mps = true;  // the one process is the server through which others go
    EXPECT_EQ(decide(s)[1].gpus, 1u);
}

TEST(LeasePolicy, a_prohibited_gpu_is_none) {
    Snapshot s = server(2);
    s.gpus[0].mode = ComputeMode::prohibited;
    EXPECT_EQ(only(s, wants(1)).gpus, 2u);
    s.gpus[1].mode = ComputeMode::prohibited;
    EXPECT_EQ(only(s, wants(1)).obstacle, Obstacle::no_such_gpu);
    EXPECT_FALSE(ever_fits(s, wants(1)));
    EXPECT_TRUE(ever_fits(server(1), wants(79)));
    EXPECT_FALSE(ever_fits(server(1), wants(80))) << "the context has no room";
    EXPECT_FALSE(ever_fits(server(1), wants(1, 2)));
}

TEST(LeasePolicy, the_contention_rule_applies_to_foreign_processes) {
    Snapshot idle = server(1), busy = server(1);
    foreign_process_on(idle, 0, 20 * gib, 10);
    EXPECT_EQ(only(idle, {me, 40 * gib - context, 1}).gpus, 1u) << "60 GiB free are 1.5 times 40";
    EXPECT_EQ(only(idle, {me, 40 * gib - context + 1, 1}).obstacle, Obstacle::foreign_processes);
    foreign_process_on(busy, 0, 1 * gib, 91);
    EXPECT_EQ(only(busy, wants(1)).obstacle, Obstacle::foreign_processes);
    busy.gpus[0].utilization_percent = 90;
    EXPECT_EQ(only(busy, wants(1)).gpus, 1u);
}

TEST(LeasePolicy, a_need_that_an_empty_gpu_has_not_one_and_a_half_times_is_met_beside_an_idle_foreign_process) {
    Snapshot s = server(1);
    foreign_process_on(s, 0, gib / 4, 0);
    EXPECT_EQ(only(s, wants(70)).gpus, 1u);
}

TEST(LeasePolicy, a_busy_holder_is_not_a_foreign_process) {
    Snapshot s = server(1);
    lease_on(s, 0, 30 * gib, true);
    s.gpus[0].utilization_percent = 100;
    EXPECT_EQ(only(s, wants(45)).gpus, 1u);
    foreign_process_on(s, 0, gib, 100);
    EXPECT_EQ(only(s, wants(10)).gpus, 1u) << "the utilization may be the holder's";
    EXPECT_EQ(only(s, wants(45)).obstacle, Obstacle::foreign_processes);
}

TEST(LeasePolicy, unexplained_memory_indicates_a_hidden_foreign_process) {
    Snapshot s = server(1);
    s.gpus[0].free_bytes -= 30 * gib;
    EXPECT_EQ(only(s, wants(40)).obstacle, Obstacle::foreign_processes);
    s.reservations = {{0, somebody, 30 * gib, 30 * gib}};
    EXPECT_EQ(only(s, wants(40)).gpus, 1u) << "a lease explains it";
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

TEST(LeasePolicy, a_claim_is_confirmed_against_reservations_alone) {
    Snapshot s = server(2);
    lease_on(s, 0, 40 * gib, false);
    s.tickets = {wants(79), wants(79)};
    EXPECT_TRUE(still_fits(s, {}, wants(30), 1));
    EXPECT_FALSE(still_fits(s, {}, wants(50), 1));
    EXPECT_TRUE(still_fits(s, {}, wants(50, 1), 2));
    EXPECT_FALSE(still_fits(s, {}, wants(50, 2), 3));
    EXPECT_FALSE(still_fits(s, {}, wants(1), 0));
    EXPECT_FALSE(still_fits(s, {}, wants(1), GpuSet(1) << 5)) << "there is no such GPU";
}

// What is granted is there, whatever the snapshot: sums of what was granted never exceed what was free.
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
