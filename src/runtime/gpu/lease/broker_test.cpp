// Requests: what they are granted or refused, and the messages. With a simulated clock, GPUs and neighbours.
// SPDX-License-Identifier: MIT
#include "gpu/lease/broker.hpp"

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
    expect_error<NoGpu>([&] { acquire_in(deps, {.gpus = 2}); }, {"2 GPUs were requested together", "can use 1"});
    EXPECT_THROW(acquire_in(deps, {.bytes = 0}), glint::OptionError);
    EXPECT_THROW(acquire_in(deps, {.gpus = 0}), glint::OptionError);
    deps.rules.max_shares_per_user = 1;
    probe->observation = gpus(2);
    EXPECT_THROW(acquire_in(deps, {.gpus = 2}), glint::OptionError);
    probe->observation = gpus(0);
    expect_error<NoGpu>([&] { acquire(1); }, {"no GPU in this test"});
}

TEST_F(LeaseBroker, a_user_has_no_more_than_the_limit) {
    deps.rules.max_shares_per_user = 2;
    probe->observation = gpus(4);
    Lease first = acquire(1), second = acquire(1);
    expect_error<LeaseTimeout>([&] { acquire(1); }, {"GLINT_LEASES_PER_USER"});
    { const Lease gone = std::move(first); }
    acquire(1);
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
