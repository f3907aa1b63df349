// Waiting for a lease: by a clock, GPUs and neighbours of the test's own.
// SPDX-License-Identifier: MIT
#include "gpu/lease/broker.hpp"

#include <sys/stat.h>
#include <sys/wait.h>

#include <csignal>
#include <limits>
#include <thread>
#include <utility>

#include "gpu/process.hpp"
#include "tests/expect_error.hpp"
#include "tests/lease_fixture.hpp"

using namespace glint::gpu;
using namespace glint::gpu::lease;
using namespace glint::gpu::lease::test;
using glint::test::expect_error;

namespace {
struct LeaseBroker : LeaseTest {};
}  // namespace

TEST_F(LeaseBroker, a_free_gpu_is_had_at_once) {
    probe->observation = gpus(2);
    gpu(0).free_bytes = 40 * gib;
    const Lease lease = acquire(8);
    ASSERT_EQ(lease.devices().size(), 1u);
    EXPECT_EQ(lease.devices()[0].ordinal, 1);
    EXPECT_EQ(lease.devices()[0].uuid, "GPU-test-1");
    EXPECT_EQ(lease.devices()[0].context_bytes, context_bytes);
    EXPECT_EQ(lease.bytes(), 8 * gib);
    EXPECT_TRUE(lease.visible());
    EXPECT_EQ(clock->waits, 0);
}

TEST_F(LeaseBroker, several_gpus_at_once) {
    probe->observation = gpus(3);
    gpu(1).free_bytes = 4 * gib;
    const Lease lease = acquire_in(deps, {.bytes = 8 * gib, .gpus = 2, .timeout_s = 0});
    ASSERT_EQ(lease.devices().size(), 2u);
    EXPECT_EQ(lease.devices()[0].ordinal, 0);
    EXPECT_EQ(lease.devices()[1].ordinal, 2);
}

TEST_F(LeaseBroker, a_reservation_is_not_granted_to_another) {
    const Lease first = acquire(50);
    EXPECT_THROW(acquire(50), LeaseTimeout);
    const Lease second = acquire(20);
    EXPECT_EQ(second.devices()[0].ordinal, 0);
}

TEST_F(LeaseBroker, a_lease_ends_with_its_object) {
    { const Lease first = acquire(50); }
    Lease second = acquire(50);
    Lease third = std::move(second);
    EXPECT_THROW(acquire(50), LeaseTimeout);
    second = std::move(third);
    EXPECT_THROW(acquire(50), LeaseTimeout);
    { const Lease gone = std::move(second); }
    acquire(50);
}

TEST_F(LeaseBroker, the_message_says_what_was_needed_what_was_free_and_who_held_it) {
    const Lease holder = acquire(60);
    clock->advance(7);
    const std::string who = "process " + std::to_string(::getpid()) + " of user " + std::to_string(::geteuid());
    expect_error<LeaseTimeout>([&] { acquire(40, 3); },
                               {"within 3 s", "40.5 GiB with the context are needed",
                                "GPU-test-0 (Test GPU) has 19.5 GiB of 80.0 GiB", who.c_str(), "60.5 GiB, for 10 s"});
    EXPECT_NEAR(clock->seconds(), 10, 0.01);
    try {
        acquire(40);
        FAIL();
    } catch (const LeaseTimeout& timeout) {
        EXPECT_EQ(timeout.required_bytes, 40 * gib + context_bytes);
        EXPECT_EQ(timeout.available_bytes, 20 * gib - context_bytes);
    }
}

TEST_F(LeaseBroker, a_stopped_holder_is_said_to_be_stopped) {
    Slot holder = participant(State::holding, 60);
    const pid_t child = ::fork();
    if (child == 0) {
        ::raise(SIGSTOP);
        ::_exit(0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, WUNTRACED), child);
    holder.record.pid = std::uint32_t(child);
    holder.publish();
    EXPECT_TRUE(snapshot_in(deps).gpus[0].holders.at(0).stopped);
    expect_error<LeaseTimeout>([&] { acquire(40); }, {"; stopped, so it keeps them: kill -CONT ", "resumes it)"});
    ::kill(child, SIGKILL);
    ::waitpid(child, &status, 0);
    for (const auto other : {std::uint32_t(::getpid()), std::uint32_t(child)}) {
        holder.record.pid = other;
        holder.publish();
        EXPECT_FALSE(snapshot_in(deps).gpus[0].holders.at(0).stopped) << "goes on, or has ended";
    }
    EXPECT_FALSE(is_stopped(::getpid(), ::geteuid() + 1));
}

TEST_F(LeaseBroker, tells_how_it_waits) {
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

TEST_F(LeaseBroker, begins_when_a_neighbour_ends) {
    std::optional<Lease> holder = acquire(60);
    clock->at(20, [&] { holder.reset(); });
    const Lease lease = acquire(40, 100);
    EXPECT_NEAR(lease.waited_s(), 20, 0.05);
}

TEST_F(LeaseBroker, begins_when_a_foreign_process_ends) {
    gpu().free_bytes = 10 * gib;
    gpu().processes = 1;
    clock->at(20, [&] { gpu().free_bytes = 80 * gib, gpu().processes = 0; });
    EXPECT_NEAR(acquire(40, 100).waited_s(), 20, 0.7) << "NVML is asked every half second or so";
}

TEST_F(LeaseBroker, only_the_head_keeps_asking_nvml) {
    const Slot first = participant(State::waiting, 70), holder = participant(State::holding, 60);
    clock->at(3,
              [&] { const_cast<Slot&>(first).record.beat_ns = clock->now_ns(), const_cast<Slot&>(first).publish(); });
    clock->advance(0.001);
    EXPECT_THROW(acquire(40, 4), LeaseTimeout);
    EXPECT_LE(probe->looks, 4);
}

// While the head is awake, the second looks at nothing else. It gets the GPU once the head is not, although that could
// run then.
TEST_F(LeaseBroker, who_is_behind_the_head_sees_whether_it_is_awake) {
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

TEST_F(LeaseBroker, who_is_far_behind_wakes_up_once_a_second) {
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

TEST_F(LeaseBroker, first_come_first_served) {
    Slot first = participant(State::waiting, 60);
    clock->advance(0.001);
    EXPECT_THROW(acquire(60), LeaseTimeout) << "somebody before it will have this";
    acquire(15);
    first.release();
    acquire(60);
}

TEST_F(LeaseBroker, gets_in_the_way_of_a_large_one_a_bounded_number_of_times) {
    const Slot holder = participant(State::holding, 40), large = participant(State::waiting, 60);
    clock->advance(0.001);
    for (int k = 0; k < deps.rules.max_passes; ++k) acquire(30);
    EXPECT_THROW(acquire(30), LeaseTimeout);
    EXPECT_EQ(snapshot_in(deps).waiters.at(0).passes, deps.rules.max_passes);
    const Lease beside = acquire(10);  // 60 and 10 will fit
    EXPECT_THROW(acquire(10), LeaseTimeout) << "the first of them came after the large one";
}

TEST_F(LeaseBroker, is_overtaken_by_those_who_came_later) {
    const Slot ticket = participant(State::waiting, 60);
    Slot other = participant(State::waiting, 1);
    const std::uint64_t arrived_ns = ticket.record.arrived_ns;
    other.record.admissions[0] = {arrived_ns - 1, arrived_ns + 1};  // had its turn
    other.publish();
    EXPECT_EQ(passes_of(ticket.record, scan()), 0);
    other.record.admissions[1] = {arrived_ns + 1, arrived_ns + 2};
    other.publish();
    EXPECT_EQ(passes_of(ticket.record, scan()), 1);
}

TEST_F(LeaseBroker, who_is_far_from_the_front_sees_when_the_one_leaves_that_is_a_window_before) {
    const Slot holder = participant(State::holding, 70);
    std::vector<Slot> before;
    for (int k = 0; k < deps.rules.window; ++k) before.push_back(participant(State::waiting, 60, -0.5));
    clock->at(3, [&] { before.front().release(); });
    EXPECT_NEAR(acquire(5, 10).waited_s(), 3, 0.05);
}

TEST_F(LeaseBroker, a_stopped_waiter_holds_up_others_for_a_bounded_time) {
    const Slot stopped = participant(State::waiting, 60);
    clock->advance(0.001);
    const Lease lease = acquire(60, 100);
    EXPECT_GE(lease.waited_s(), heartbeat_timeout_s - 0.01);
    EXPECT_LE(lease.waited_s(), heartbeat_timeout_s + 6);
}

TEST_F(LeaseBroker, a_stopped_claim_holds_up_others_for_a_bounded_time) {
    for (const double before_s : {-1.0, 1.0}) {
        const Slot stopped = participant(State::claiming, 60, before_s);
        const Lease lease = acquire(60, 100);
        EXPECT_GE(lease.waited_s(), claim_timeout_s - 0.01);
        EXPECT_LE(lease.waited_s(), claim_timeout_s + 3);
    }
}

// It was stopped after it had looked, for so long that somebody else no longer counted its claim.
TEST_F(LeaseBroker, who_wakes_up_late_in_a_claim_looks_again) {
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

TEST_F(LeaseBroker, of_two_claims_the_earlier_wins) {
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

TEST_F(LeaseBroker, a_rival_that_is_confirmed_first_keeps_what_it_has) {
    std::optional<Slot> rival;
    deps.test_point = [&](const char* point) {
        if (point != std::string("claim") || rival) return;
        rival = participant(State::claiming, 60, +1);
        clock->at(clock->seconds() + 0.2, [&] { rival->record.state = State::holding, rival->publish(); });
    };
    EXPECT_THROW(acquire(60, 1), LeaseTimeout);
}

TEST_F(LeaseBroker, can_be_cancelled) {
    const Lease holder = acquire(60);
    glint::StopFlag stop{false};
    clock->at(5, [&] { stop = true; });
    EXPECT_THROW(acquire_in(deps, {.bytes = 40 * gib, .stop = &stop}), glint::Cancelled);
    EXPECT_NEAR(clock->seconds(), 5, 0.3);
    EXPECT_EQ(snapshot_in(deps).waiters.size(), 0u);
}

TEST_F(LeaseBroker, an_exception_of_the_callers_leaves_no_ticket) {
    const Lease holder = acquire(60);
    LeaseRequest request{.bytes = 40 * gib};
    request.on_wait = [](double, std::uint64_t, std::uint64_t) { throw std::runtime_error("enough"); };
    EXPECT_THROW(acquire_in(deps, request), std::runtime_error);
    EXPECT_EQ(snapshot_in(deps).waiters.size(), 0u);
}

TEST_F(LeaseBroker, refuses_what_can_never_be) {
    expect_error<OutOfMemory>([&] { acquire(80); }, {"80.0 GiB beyond the context", "the largest has 80.0 GiB"});
    expect_error<NoGpu>([&] { acquire_in(deps, {.gpus = 2}); }, {"2 GPUs at once", "can use 1"});
    EXPECT_THROW(acquire_in(deps, {.bytes = 0}), glint::OptionError);
    EXPECT_THROW(acquire_in(deps, {.gpus = 0}), glint::OptionError);
    deps.rules.max_shares_per_user = 1;
    probe->observation = gpus(2);
    EXPECT_THROW(acquire_in(deps, {.gpus = 2}), glint::OptionError);
    probe->observation = gpus(0);
    expect_error<NoGpu>([&] { acquire(1); }, {"no GPU in this test"});
}

TEST_F(LeaseBroker, without_a_gpu_there_is_none) {
    NvmlProbe real;
    if (real.observe().why_none.empty()) GTEST_SKIP() << "there is a GPU";
    ::setenv("GLINT_LEASE_DIR", folder.path().c_str(), 1);
    EXPECT_THROW(glint::gpu::acquire({.timeout_s = 0}), NoGpu);
    EXPECT_FALSE(snapshot_leases().why_no_gpu.empty());
    ::unsetenv("GLINT_LEASE_DIR");
}

TEST_F(LeaseBroker, a_user_has_no_more_than_the_limit) {
    deps.rules.max_shares_per_user = 2;
    probe->observation = gpus(4);
    Lease first = acquire(1), second = acquire(1);
    expect_error<LeaseTimeout>([&] { acquire(1); }, {"GLINT_LEASES_PER_USER"});
    { const Lease gone = std::move(first); }
    acquire(1);
}

TEST_F(LeaseBroker, without_a_directory_it_asks_nvml_alone_and_says_so) {
    for (const std::string path : {folder / "missing" / "deeper", folder.write("file", ""), folder / "open"}) {
        if (path == folder / "open") ::mkdir(path.c_str(), 0), ::chmod(path.c_str(), 0777);
        deps.directory = std::make_shared<StateDir>(path);
        std::vector<std::string> log;
        LeaseRequest request{.bytes = 40 * gib, .timeout_s = 10};
        request.log = [&](const std::string& words) { log.push_back(words); };
        const Lease lease = acquire_in(deps, request);
        EXPECT_FALSE(lease.visible());
        ASSERT_EQ(log.size(), 1u);
        EXPECT_NE(log[0].find(path), std::string::npos) << log[0];
        EXPECT_NE(log[0].find("NVML alone says what is free"), std::string::npos) << log[0];
        EXPECT_FALSE(lease.others_wait());
        lease.publish_held(gib);
    }
    gpu().free_bytes = 10 * gib;
    clock->at(20, [&] { gpu().free_bytes = 80 * gib; });
    EXPECT_NEAR(acquire(40, 100).waited_s(), 20, 0.7);
}

TEST_F(LeaseBroker, what_is_held_is_not_counted_twice) {
    const Lease lease = acquire(40);
    gpu().free_bytes -= 40 * gib + context_bytes;
    ++gpu().processes;
    EXPECT_THROW(acquire(30), LeaseTimeout) << "not yet told";
    lease.publish_held(40 * gib);
    acquire(30);
    lease.publish_held(20 * gib);  // to be freed
    EXPECT_THROW(acquire(30), LeaseTimeout);
}

TEST_F(LeaseBroker, a_holder_sees_others_wait_and_makes_room) {
    Lease lease = acquire(60);
    EXPECT_FALSE(lease.others_wait());
    LeaseRequest request{.bytes = 40 * gib, .timeout_s = 100};
    bool seen = false;
    request.on_wait = [&](double, std::uint64_t, std::uint64_t) {
        clock->advance(0.2);
        seen = lease.others_wait();
        if (seen) lease.shrink(20 * gib);
    };
    const Lease other = acquire_in(deps, request);
    EXPECT_TRUE(seen);
    EXPECT_EQ(lease.bytes(), 20 * gib);
    EXPECT_LT(other.waited_s(), 2);
    clock->advance(1);
    EXPECT_FALSE(lease.others_wait());
}

TEST_F(LeaseBroker, remembers_what_a_context_costs_for_this_user) {
    // As create_context() does; the fixture's GPUs have none.
    {
        Slot slot = participant(State::holding, 1);
        slot.record.known[0] = {probe->observation.gpus[0].id, probe->observation.driver, 700, 0, 0};
        slot.record.known[1] = {probe->observation.gpus[0].id, probe->observation.driver + 1, 9000, 1,
                                0};  // another driver
        slot.publish();
    }
    EXPECT_EQ(acquire(1).devices()[0].context_bytes, std::uint64_t(700) << 20);
    EXPECT_EQ(acquire(1).devices()[0].context_bytes, std::uint64_t(700) << 20)
        << "the next one in the slot knows it too";
}

TEST_F(LeaseBroker, believes_in_no_context_larger_than_any_gpu_has_seen) {
    for (const auto& [mib, expected] : {std::pair(16384u, 16 * gib), std::pair(16385u, context_bytes)}) {
        Slot slot = participant(State::holding, 1);
        slot.record.known[0] = {probe->observation.gpus[0].id, probe->observation.driver, mib, 0, 0};
        slot.publish();
        slot.release();
        EXPECT_EQ(acquire(1).devices()[0].context_bytes, expected) << mib;
    }
}

TEST_F(LeaseBroker, an_unusual_context_is_forgotten_with_the_next_one) {
    auto one = acquire_state(deps, {.bytes = gib, .timeout_s = 0});
    {
        auto other = acquire_state(deps, {.bytes = gib, .timeout_s = 0});
        other->learn(0, 3 * gib, 0);
    }
    EXPECT_EQ(acquire(1).devices()[0].context_bytes, 3 * gib) << "the only one that was seen";
    clock->advance(1);
    one->learn(0, 400 << 20, 0);
    EXPECT_EQ(acquire(1).devices()[0].context_bytes, std::uint64_t(400) << 20) << "in another slot";
    clock->advance(1);
    one->learn(0, gib, 0);
    one.reset();
    EXPECT_EQ(acquire(1).devices()[0].context_bytes, gib) << "also after its process has ended";
}

TEST_F(LeaseBroker, an_unusual_context_makes_no_request_impossible) {
    acquire_state(deps, {.bytes = gib, .timeout_s = 0})->learn(0, 8 * gib, 0);
    EXPECT_EQ(acquire(72).devices()[0].context_bytes, 8 * gib) << "it just fits";
    gpu().free_bytes = 78 * gib;  // the driver takes some on an empty GPU, too
    for (const std::uint64_t large : {71, 72, 75, 77})
        EXPECT_EQ(acquire(large).devices()[0].context_bytes, context_bytes) << large;
    EXPECT_EQ(acquire(70).devices()[0].context_bytes, 8 * gib);
    const Lease holder = acquire(75);
    EXPECT_EQ(scan().slots[0].record.used_shares()[0].reserved_bytes, 75 * gib + context_bytes);
    expect_error<LeaseTimeout>([&] { acquire(76); }, {"76.5 GiB with the context are needed"});
    expect_error<LeaseTimeout>([&] { acquire(4); },
                               {"12.0 GiB with the context are needed", "has 2.5 GiB of 80.0 GiB"});
}

TEST_F(LeaseBroker, a_learned_number_of_contexts_is_believed_within_reason) {
    gpu().processes = 20;
    const auto known = [&](std::uint32_t most, std::uint32_t uid) {
        Slot slot = participant(State::holding, 1);
        slot.record.known[0] = {probe->observation.gpus[0].id, probe->observation.driver, 0, most,
                                seconds_of(clock->now_ns())};
        slot.publish();
        slot.release();
        const std::string mine = SlotName{std::uint32_t(::geteuid()), 0}.text(), theirs = SlotName{uid, 0}.text();
        if (mine != theirs) std::filesystem::rename(folder / mine, folder / theirs);
    };
    const std::uint32_t me = ::geteuid();
    for (const std::uint32_t wrong : {0u, 1u, 15u, 19u, 100u, 1u << 31, ~0u}) {
        known(wrong, me);
        EXPECT_NO_THROW(acquire(1)) << wrong;
    }
    known(20, me + 1);
    EXPECT_NO_THROW(acquire(1)) << "another user's";
    known(20, me);
    expect_error<LeaseTimeout>([&] { acquire(1); }, {"as many contexts as it can hold"});
    gpu().processes = 19;
    EXPECT_NO_THROW(acquire(1));
    known(20, me);
    gpu().processes = 20;
    clock->advance(599);
    EXPECT_THROW(acquire(1), LeaseTimeout);
    clock->advance(2);
    EXPECT_NO_THROW(acquire(1)) << "it is tried again now and then";
    known(~0u, me);
    gpu().processes = 100;
    expect_error<LeaseTimeout>([&] { acquire(1); }, {"as many contexts as it can hold"});
}

TEST_F(LeaseBroker, the_size_and_the_number_of_contexts_are_remembered_apart) {
    auto state = acquire_state(deps, {.bytes = gib, .timeout_s = 0});
    state->learn(0, 0, 20);
    clock->advance(599);
    state->learn(0, 700 << 20, 0);
    gpu().processes = 20;
    expect_error<LeaseTimeout>([&] { acquire(1); }, {"as many contexts as it can hold"});
    clock->advance(2);
    EXPECT_EQ(acquire(1).devices()[0].context_bytes, std::uint64_t(700) << 20);
}

TEST_F(LeaseBroker, a_lost_gpu_ends_the_wait_and_is_not_leased) {
    probe->observation = gpus(2);
    const Lease first = acquire(60), second = acquire(60);
    const auto lose = [&](std::size_t g) {
        ObservedGpu& seen = probe->observation.gpus[g];
        seen.free_known = false, seen.lost = true, seen.nvml_why = "fell off";
        seen.gpu.free_bytes = seen.gpu.total_bytes;
    };
    clock->at(1, [&] { lose(0); });
    clock->at(3, [&] { lose(1); });
    expect_error<NoGpu>([&] { acquire(40, 100); }, {"no GPU can be used", "GPU-test-0", "GPU-test-1", "fell off"});
    EXPECT_LT(clock->seconds(), 10);
    probe->observation.gpus[1].lost = false;
    expect_error<LeaseTimeout>([&] { acquire(40); }, {"GPU-test-1"});
    expect_error<NoGpu>([&] { acquire_in(deps, {.gpus = 2}); }, {"can use 1", "GPU-test-0", "fell off"});
}

TEST_F(LeaseBroker, a_gpu_whose_memory_is_not_known_is_not_taken_for_empty) {
    probe->observation = gpus(2);
    gpu(1).free_bytes = 20 * gib;
    ObservedGpu& failing = probe->observation.gpus[0];
    failing.free_known = false, failing.nvml_why = "NVML does not answer";
    gpu(0).free_bytes = 0;  // it never did
    EXPECT_EQ(acquire(8).devices()[0].ordinal, 1);
    expect_error<LeaseTimeout>([&] { acquire(40); }, {"has 20.0 GiB of 80.0 GiB"});
    gpu(0).free_bytes = 78 * gib;  // what it said last
    const Lease lease = acquire(40);
    EXPECT_EQ(lease.devices()[0].ordinal, 0);
    lease.publish_held(40 * gib);
    EXPECT_EQ(snapshot_in(deps).gpus[0].free_bytes, 40 * gib - context_bytes) << "no more than leases leave";
    expect_error<LeaseTimeout>([&] { acquire(40); },
                               {"GPU-test-0", "has 39.5 GiB of 80.0 GiB", "NVML does not answer"});
}

TEST_F(LeaseBroker, says_why_no_gpu_can_be_used_now) {
    const Lease holder = acquire(60);
    gpu().mode = ComputeMode::prohibited;
    std::uint64_t told = 0;
    LeaseRequest request{.bytes = 40 * gib, .timeout_s = 1};
    request.on_wait = [&](double, std::uint64_t, std::uint64_t required) { told = required; };
    expect_error<LeaseTimeout>([&] { acquire_in(deps, request); },
                               {"40.0 GiB are needed", "GPU-test-0", "compute mode is \"prohibited\""});
    EXPECT_EQ(told, 40 * gib);
}

TEST_F(LeaseBroker, a_removed_slot_is_replaced) {
    const Lease holder = acquire(60);
    int removed = 0;
    deps.test_point = [&](const char* point) {
        if (point != std::string("look") || removed++) return;
        for (const std::string& name : folder.names())
            if (name.ends_with(".1")) std::filesystem::remove(folder / name);
    };
    EXPECT_THROW(acquire(40, 3), LeaseTimeout);
    EXPECT_GT(removed, 1);
    EXPECT_EQ(acquire(10).devices().size(), 1u);
    for (const std::string& name : folder.names()) std::filesystem::remove(folder / name);
    holder.publish_held(0);  // and so is a holder's, as soon as it says anything
    EXPECT_THROW(acquire(40), LeaseTimeout);
}

TEST_F(LeaseBroker, after_a_removal_nobody_takes_what_holders_have_not_shown_again) {
    const auto holder = acquire_state(deps, {.bytes = 60 * gib, .timeout_s = 0});
    bool removed = false;
    deps.test_point = [&](const char* point) {
        if (point != std::string("look") || std::exchange(removed, true)) return;
        for (const std::string& name : folder.names()) std::filesystem::remove(folder / name);
        clock->at(clock->seconds() + 1, [&] { holder->beat(); });  // its heartbeat
    };
    EXPECT_THROW(acquire(40, 10), LeaseTimeout);
    EXPECT_TRUE(removed);
}

TEST_F(LeaseBroker, publishes_how_long_it_expects_to_hold) {
    const auto published_ms = [&](double expected_s) {
        std::uint32_t ms = 0;
        deps.test_point = [&](const char* point) {
            if (point == std::string("ticket")) ms = scan().slots.at(0).record.expected_ms;
        };
        acquire_in(deps, {.bytes = gib, .timeout_s = 0, .expected_s = expected_s});
        return ms;
    };
    EXPECT_EQ(published_ms(0), 0u) << "unknown";
    EXPECT_EQ(published_ms(1.5), 1500u);
    for (const double very_long : {4.3e6, 1e9, std::numeric_limits<double>::infinity()})
        EXPECT_EQ(published_ms(very_long), 4'000'000'000u) << very_long;
}

TEST_F(LeaseBroker, the_queue_can_be_seen) {
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

// All in one process, but each with a slot and a clock of its own: what is granted never exceeds what there is.
TEST_F(LeaseBroker, threads_that_ask_at_once_never_get_too_much) {
    constexpr int threads = 8, rounds = 25;
    probe->observation = gpus(2);
    std::atomic<std::int64_t> taken[2] = {};
    std::atomic<int> bad{0}, granted{0};
    std::vector<std::thread> all;
    for (int t = 0; t < threads; ++t)
        all.emplace_back([&, t] {
            Dependencies mine;
            mine.directory = deps.directory;
            auto own_probe = std::make_shared<TestProbe>();
            own_probe->observation = gpus(2);
            mine.probe = own_probe;
            mine.clock = std::shared_ptr<Clock>(&machine_clock(), [](Clock*) {});
            for (int round = 0; round < rounds; ++round) {
                const std::int64_t need = 20 + (t * 7 + round * 11) % 50;
                const Lease lease = acquire_in(mine, {.bytes = std::uint64_t(need) * gib});
                auto& on = taken[lease.devices()[0].ordinal];
                if (on.fetch_add(need) + need > 79) ++bad;
                std::this_thread::yield();
                on.fetch_sub(need);
                ++granted;
            }
        });
    for (std::thread& thread : all) thread.join();
    EXPECT_EQ(bad, 0);
    EXPECT_EQ(granted, threads * rounds);
}
