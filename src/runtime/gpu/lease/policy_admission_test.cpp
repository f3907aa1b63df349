// Which GPUs have room for a request: memory, contexts, compute modes, and the rule about foreign processes.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "tests/policy_snapshots.hpp"

using namespace glint::gpu::lease;
using namespace glint::gpu::lease::test;

TEST(LeasePolicy, counts_what_is_reserved_but_not_yet_taken) {
    Snapshot s = server(1);
    lease_on(s, 0, 30 * gib, false);
    s.reservations.push_back({0, somebody, 20 * gib, 15 * gib});
    s.gpus[0].free_bytes -= 15 * gib;
    // 80 - 15 used - 30 and 5 reserved = 30, including the context.
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
    s.gpus[0].max_contexts = 4;
    EXPECT_EQ(only(s, ticket).obstacle, Obstacle::contexts);
}

TEST(LeasePolicy, a_gpu_holds_so_many_contexts) {
    Snapshot s = server(1);
    s.gpus[0].max_contexts = 3;
    lease_on(s, 0, gib, true);
    lease_on(s, 0, gib, false);  // its context is still to come
    EXPECT_EQ(only(s, wants(1)).gpus, 1u);
    foreign_process_on(s, 0, gib, 0);
    EXPECT_EQ(only(s, wants(1)).gpus, 0u);
    EXPECT_EQ(only(s, wants(1)).obstacle, Obstacle::contexts);
    Snapshot many = server(1);
    many.gpus[0].max_contexts = 5;
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
    s.gpus[0].mps = true;  // the only process is the MPS server, which serves the others
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
    for (const int percent : {90, 91}) {  // if NVML reports the process
        s.gpus[0].foreign_utilization_percent = percent;
        EXPECT_EQ(only(s, wants(10)).obstacle, percent > 90 ? Obstacle::foreign_processes : Obstacle::none);
    }
}

TEST(LeasePolicy, unexplained_memory_indicates_a_hidden_foreign_process) {
    Snapshot s = server(1);
    s.gpus[0].free_bytes -= 30 * gib;
    EXPECT_EQ(only(s, wants(40)).obstacle, Obstacle::foreign_processes);
    s.reservations = {{0, somebody, 30 * gib, 30 * gib}};
    EXPECT_EQ(only(s, wants(40)).gpus, 1u) << "a lease explains it";
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
