// The queue: the order of requests, overtaking, and which of two claims wins. With a simulated clock, GPUs and
// neighbours.
// SPDX-License-Identifier: MIT
#include "gpu/lease/broker.hpp"

#include "tests/lease_fixture.hpp"

using namespace glint::gpu;
using namespace glint::gpu::lease;
using namespace glint::gpu::lease::test;

namespace {
struct LeaseBrokerQueue : LeaseTest {};
}  // namespace

TEST_F(LeaseBrokerQueue, tells_how_it_waits) {
    const Lease holder = acquire(60);
    std::vector<double> times;
    std::vector<std::string> log;
    LeaseRequest request{.bytes = 40 * gib, .timeout_s = 10};
    request.on_wait = [&](double elapsed_s, std::uint64_t available, std::uint64_t required) {
        times.push_back(elapsed_s);
        EXPECT_EQ(available, 20 * gib - context_bytes);
        EXPECT_EQ(required, 40 * gib + context_bytes);
    };
    request.log = [&](const std::string& words) { log.push_back(words); };
    EXPECT_THROW(acquire_in(deps, request), LeaseTimeout);
    EXPECT_EQ(times.front(), 0);
    EXPECT_GE(times.size(), 10u);
    EXPECT_LE(times.size(), 21u);
    ASSERT_EQ(log.size(), 1u) << "the reason did not change";
    EXPECT_NE(log[0].find("40.5 GiB with the context are needed"), std::string::npos) << log[0];
}

TEST_F(LeaseBrokerQueue, begins_when_a_neighbour_ends) {
    std::optional<Lease> holder = acquire(60);
    clock->at(20, [&] { holder.reset(); });
    const Lease lease = acquire(40, 100);
    EXPECT_NEAR(lease.waited_s(), 20, 0.05);
}

TEST_F(LeaseBrokerQueue, begins_when_a_foreign_process_ends) {
    gpu().free_bytes = 10 * gib;
    gpu().processes = 1;
    clock->at(20, [&] { gpu().free_bytes = 80 * gib, gpu().processes = 0; });
    EXPECT_NEAR(acquire(40, 100).waited_s(), 20, 0.7) << "NVML is asked every half second or so";
}

TEST_F(LeaseBrokerQueue, only_the_head_keeps_asking_nvml) {
    const Slot first = participant(State::waiting, 70), holder = participant(State::holding, 60);
    clock->at(3,
              [&] { const_cast<Slot&>(first).record.beat_ns = clock->now_ns(), const_cast<Slot&>(first).publish(); });
    clock->advance(0.001);
    EXPECT_THROW(acquire(40, 4), LeaseTimeout);
    EXPECT_LE(probe->looks, 4);
}

TEST_F(LeaseBrokerQueue, who_is_behind_the_head_sees_whether_it_is_awake) {
    constexpr double awake_s = 60;
    Slot head = participant(State::waiting, 60);
    gpu().free_bytes = 10 * gib;
    clock->at(awake_s, [&] { gpu().free_bytes = 80 * gib; });
    for (double t = 1; t <= awake_s; t += 1)
        clock->at(t, [&] { head.record.beat_ns = clock->now_ns(), head.publish(); });
    clock->advance(0.001);
    int looks = 0, looks_while_awake = 0;
    deps.test_point = [&](const char* point) { looks += point == std::string("look"); };
    clock->at(awake_s, [&] { looks_while_awake = looks; });
    const Lease lease = acquire(60, 100);
    EXPECT_LE(looks_while_awake, 3);
    EXPECT_GE(lease.waited_s(), awake_s + heartbeat_timeout_s - 0.01);
    EXPECT_LE(lease.waited_s(), awake_s + heartbeat_timeout_s + 6);
}

TEST_F(LeaseBrokerQueue, who_is_far_behind_wakes_up_once_a_second) {
    std::vector<Slot> before;
    for (int k = 0; k <= deps.rules.window; ++k) before.push_back(participant(State::waiting, 60));
    clock->advance(0.001);
    glint::StopFlag stop{false};
    int told = 0;
    LeaseRequest request{.bytes = 60 * gib, .stop = &stop};
    request.on_wait = [&](double, std::uint64_t, std::uint64_t) { ++told; };
    clock->at(4.5, [&] { stop = true; });
    EXPECT_THROW(acquire_in(deps, request), glint::Cancelled);
    EXPECT_LE(clock->seconds(), 4.5 + 1.01);
    EXPECT_GE(told, 4);
    EXPECT_LE(told, 6);
}

TEST_F(LeaseBrokerQueue, first_come_first_served) {
    Slot first = participant(State::waiting, 60);
    clock->advance(0.001);
    EXPECT_THROW(acquire(60), LeaseTimeout) << "somebody before it will have this";
    acquire(15);
    first.release();
    acquire(60);
}

TEST_F(LeaseBrokerQueue, gets_in_the_way_of_a_large_one_a_bounded_number_of_times) {
    const Slot holder = participant(State::holding, 40), large = participant(State::waiting, 60);
    clock->advance(0.001);
    for (int k = 0; k < deps.rules.max_passes; ++k) acquire(30);
    EXPECT_THROW(acquire(30), LeaseTimeout);
    EXPECT_EQ(snapshot_in(deps).waiters.at(0).passes, deps.rules.max_passes);
    const Lease beside = acquire(10);  // 60 and 10 will fit
    EXPECT_THROW(acquire(10), LeaseTimeout) << "the first of them came after the large one";
}

TEST_F(LeaseBrokerQueue, is_overtaken_by_those_who_came_later) {
    const Slot ticket = participant(State::waiting, 60);
    Slot other = participant(State::waiting, 1);
    const std::uint64_t arrived_ns = ticket.record.arrived_ns;
    other.record.admissions[0] = {arrived_ns - 1, arrived_ns + 1};  // arrived earlier, so it does not overtake
    other.publish();
    EXPECT_EQ(count_passes(ticket.record, scan()), 0);
    other.record.admissions[1] = {arrived_ns + 1, arrived_ns + 2};
    other.publish();
    EXPECT_EQ(count_passes(ticket.record, scan()), 1);
}

TEST_F(LeaseBrokerQueue, who_is_far_from_the_front_sees_when_the_one_leaves_that_is_a_window_before) {
    const Slot holder = participant(State::holding, 70);
    std::vector<Slot> before;
    for (int k = 0; k < deps.rules.window; ++k) before.push_back(participant(State::waiting, 60, -0.5));
    clock->at(3, [&] { before.front().release(); });
    EXPECT_NEAR(acquire(5, 10).waited_s(), 3, 0.05);
}

TEST_F(LeaseBrokerQueue, a_stopped_waiter_holds_up_others_for_a_bounded_time) {
    const Slot stopped = participant(State::waiting, 60);
    clock->advance(0.001);
    const Lease lease = acquire(60, 100);
    EXPECT_GE(lease.waited_s(), heartbeat_timeout_s - 0.01);
    EXPECT_LE(lease.waited_s(), heartbeat_timeout_s + 6);
}

TEST_F(LeaseBrokerQueue, a_stopped_claim_holds_up_others_for_a_bounded_time) {
    for (const double before_s : {-1.0, 1.0}) {
        const Slot stopped = participant(State::claiming, 60, before_s);
        const Lease lease = acquire(60, 100);
        EXPECT_GE(lease.waited_s(), claim_timeout_s - 0.01);
        EXPECT_LE(lease.waited_s(), claim_timeout_s + 3);
    }
}

TEST_F(LeaseBrokerQueue, who_wakes_up_late_in_a_claim_looks_again) {
    std::optional<Slot> other;
    deps.test_point = [&](const char* point) {
        if (point != std::string("confirmed") || other) return;
        other = participant(State::holding, 60);
        clock->advance(claim_timeout_s + 1);
    };
    EXPECT_THROW(acquire(60), LeaseTimeout);
    for (const ScannedSlot& slot : scan().slots)
        EXPECT_EQ(slot.record.admissions[0].admitted_ns, 0u) << "nobody was overtaken";
    other->release();
    acquire(60);
}

TEST_F(LeaseBrokerQueue, of_two_claims_the_earlier_wins) {
    std::optional<Slot> rival;
    deps.test_point = [&](const char* point) {
        if (point == std::string("claim") && !rival) rival = participant(State::claiming, 60, -1);
    };
    EXPECT_THROW(acquire(60), LeaseTimeout) << "the rival came first";
    rival->release();
    rival.reset();
    deps.test_point = [&](const char* point) {
        if (point != std::string("claim") || rival) return;
        rival = participant(State::claiming, 60, +1);
        clock->at(clock->seconds() + 0.2, [&] { rival->record.state = State::waiting, rival->publish(); });
    };
    EXPECT_NEAR(acquire(60, 1).waited_s(), 0.2, 0.1) << "the rival withdraws";
}

TEST_F(LeaseBrokerQueue, a_rival_that_is_confirmed_first_keeps_what_it_has) {
    std::optional<Slot> rival;
    deps.test_point = [&](const char* point) {
        if (point != std::string("claim") || rival) return;
        rival = participant(State::claiming, 60, +1);
        clock->at(clock->seconds() + 0.2, [&] { rival->record.state = State::holding, rival->publish(); });
    };
    EXPECT_THROW(acquire(60, 1), LeaseTimeout);
}

TEST_F(LeaseBrokerQueue, the_queue_can_be_seen) {
    const Lease holder = acquire(60);
    holder.publish_held(30 * gib);
    const Slot waiter = participant(State::waiting, 70);
    gpu().processes = 3;
    gpu().free_bytes = 40 * gib;
    clock->advance(2);
    const LeaseSnapshot seen = snapshot_in(deps);
    ASSERT_EQ(seen.gpus.size(), 1u);
    EXPECT_EQ(seen.gpus[0].foreign_count, 2);
    EXPECT_EQ(seen.gpus[0].available_bytes, 10 * gib);
    ASSERT_EQ(seen.gpus[0].holders.size(), 1u);
    EXPECT_EQ(seen.gpus[0].holders[0].pid, std::uint32_t(::getpid()));
    EXPECT_EQ(seen.gpus[0].holders[0].reserved_bytes, 60 * gib + context_bytes);
    EXPECT_EQ(seen.gpus[0].holders[0].held_bytes, 30 * gib + context_bytes);
    EXPECT_EQ(seen.gpus[0].holders[0].since_s, 2);
    ASSERT_EQ(seen.waiters.size(), 1u);
    EXPECT_EQ(seen.waiters[0].bytes, 70 * gib);
    EXPECT_EQ(seen.waiters[0].since_s, 2);
    EXPECT_TRUE(seen.waiters[0].awake);
    clock->advance(10);
    EXPECT_FALSE(snapshot_in(deps).waiters.at(0).awake);
}
