// Records without progress, as a stopped, broken or hostile process leaves them: they delay others for a bounded time
// only.
// SPDX-License-Identifier: MIT
#include "gpu/lease/observer_history.hpp"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>

#include "tests/expect_error.hpp"
#include "tests/lease_fixture.hpp"

using namespace glint::gpu;
using namespace glint::gpu::lease;
using namespace glint::gpu::lease::test;

namespace {

struct ObserverOfLeases : LeaseTest {
    std::optional<std::set<std::uint32_t>>& users() { return probe->observation.gpus[0].users; }
    /// Beats every second from now on, as long as the test's clock runs.
    void keep_awake(Slot& slot, double for_s) {
        for (double t = clock->seconds() + 1; t <= clock->seconds() + for_s; t += 1)
            clock->at(t, [&] { slot.record.beat_ns = clock->now_ns(), slot.publish(); });
    }
};

}  // namespace

TEST_F(ObserverOfLeases, a_reservation_that_nobody_uses_gives_way_after_a_minute) {
    const Slot holder = participant(State::holding, 70);
    users().emplace();
    const Lease lease = acquire(60, 100);
    EXPECT_GE(lease.waited_s(), unused_timeout_s);
    EXPECT_LE(lease.waited_s(), unused_timeout_s + 1) << "the head looks every half second";
}

TEST_F(ObserverOfLeases, who_comes_later_need_not_wait_for_a_minute_again) {
    const Slot holder = participant(State::holding, 70);
    users().emplace();
    clock->advance(unused_timeout_s + 1);
    EXPECT_EQ(acquire(60).waited_s(), 0);
}

TEST_F(ObserverOfLeases, a_reservation_with_a_process_is_kept) {
    const Slot holder = participant(State::holding, 70);
    users().emplace().insert(::geteuid());
    EXPECT_THROW(acquire(60, 200), LeaseTimeout);
    users().reset();  // as in a container
    EXPECT_THROW(acquire(60, 200), LeaseTimeout);
}

TEST_F(ObserverOfLeases, memory_that_a_lease_says_it_holds_needs_a_process) {
    Slot holder = participant(State::holding, 70);
    holder.record.shares[0].held_bytes = 1;
    holder.publish();
    users().emplace().insert(::geteuid() + 1);  // perhaps the root user of its container
    EXPECT_THROW(acquire(60, 200), LeaseTimeout);
    users()->clear();
    EXPECT_EQ(acquire(60).waited_s(), 0) << "it has said so for 200 s";
}

TEST_F(ObserverOfLeases, a_pause_in_its_use_begins_anew) {
    const Slot holder = participant(State::holding, 70);
    ObserverHistory history;
    const ScannedSlot seen = scan().slots.at(0);
    ObservedGpu gpu = probe->observation.gpus[0];
    const auto unused = [&](double at_s) {
        ScannedSlot later = seen;
        later.record.since_ns = ~std::uint64_t(0);  // forged: only observed times count
        return history.is_unused(later, later.record.shares[0], gpu, false,
                                 clock->now_ns() + std::uint64_t(at_s * 1e9));
    };
    gpu.users.emplace();
    EXPECT_FALSE(unused(0));
    EXPECT_FALSE(unused(59));
    gpu.users->insert(::geteuid());
    EXPECT_FALSE(unused(61));
    gpu.users->clear();
    EXPECT_FALSE(unused(62));
    EXPECT_FALSE(unused(121));
    EXPECT_TRUE(unused(123));
}

TEST_F(ObserverOfLeases, nobody_reserves_more_than_a_gpu_has) {
    Slot holder = participant(State::holding, 70);
    holder.record.shares[0].reserved_bytes = holder.record.shares[0].held_bytes = std::uint64_t(1) << 50;
    ASSERT_TRUE(holder.publish());
    ObserverHistory history;
    const Queue queue = make_queue({}, probe->observation, scan(), {}, clock->now_ns(), history);
    ASSERT_EQ(queue.snapshot.reservations.size(), 1u);
    EXPECT_EQ(queue.snapshot.reservations[0].reserved_bytes, 80 * gib);
    EXPECT_EQ(queue.snapshot.reservations[0].held_bytes, 80 * gib);
}

TEST_F(ObserverOfLeases, what_holders_and_their_children_compute_is_not_foreign) {
    Slot holder = participant(State::holding, 10);
    const auto foreign_percent = [&](const std::map<unsigned, int>& by_process) {
        probe->observation.gpus[0].percent_by_process.emplace(by_process.begin(), by_process.end());
        ObserverHistory history;
        const Queue queue = make_queue({}, probe->observation, scan(), {}, clock->now_ns(), history);
        return queue.snapshot.gpus[0].foreign_utilization_percent;
    };
    const pid_t child = ::fork();
    if (child == 0) {
        ::pause();
        ::_exit(0);
    }
    const unsigned mine = unsigned(::getpid()), childs = unsigned(child), parents = unsigned(::getppid());
    EXPECT_EQ(foreign_percent({{mine, 60}, {childs, 30}, {parents, 7}}), 7);
    holder.record.pid_namespace += 1, holder.publish();
    EXPECT_EQ(foreign_percent({{mine, 60}, {parents, 7}}), -1) << "a holder of another container may be any of them";
    holder.record.pid_namespace -= 1, holder.record.pid = childs, holder.publish();
    EXPECT_EQ(foreign_percent({{mine, 60}, {childs, 30}}), 60);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    EXPECT_EQ(foreign_percent({{mine, 60}, {parents, 7}}), -1) << "a program has its lease now, whose pid nobody knows";
}

TEST_F(ObserverOfLeases, a_ticket_that_could_start_and_does_not_is_overtaken) {
    Slot forged = participant(State::waiting, 60);
    forged.record.arrived_ns = 1;
    forged.publish();
    keep_awake(forged, 300);
    const Lease lease = acquire(60, 200);
    EXPECT_GE(lease.waited_s(), idle_ticket_s);
    EXPECT_LE(lease.waited_s(), idle_ticket_s + 2 * 1.25 * 4) << "who is near looks every 4 s or so";
}

TEST_F(ObserverOfLeases, a_ticket_that_cannot_start_keeps_its_place) {
    Slot first = participant(State::waiting, 60);
    keep_awake(first, 60);
    gpu().free_bytes = 30 * gib;
    clock->at(40, [&] { gpu().free_bytes = 80 * gib; });
    clock->at(45, [&] {
        first.record.state = State::holding, first.record.shares[0].reserved_bytes = 60 * gib + context_bytes;
        first.publish(), first.notify_watchers();
    });
    EXPECT_THROW(acquire(60, 58), LeaseTimeout) << "the first one has it";
}

TEST_F(ObserverOfLeases, a_claim_of_the_same_instant_counts_towards_the_users_limit) {
    deps.rules.max_shares_per_user = 1;
    std::optional<Slot> other;
    deps.test_point = [&](const char* point) {
        if (point == std::string("claim") && !other) other.emplace(participant(State::holding, 1, -1));
    };
    EXPECT_THROW(acquire(1), LeaseTimeout);
    ASSERT_TRUE(other);
    EXPECT_EQ(snapshot_in(deps).gpus.at(0).holders.size(), 1u);
}

TEST_F(ObserverOfLeases, two_that_hold_and_wait_for_each_other_are_reported) {
    const Lease own = acquire(30);
    Slot other = participant(State::holding, 30);
    const auto waits_for_both = [&] {
        try {
            acquire(40, 1);
        } catch (const LeaseTimeout& timeout) {
            return std::string(timeout.what()).find("each hold a lease") != std::string::npos;
        }
        return false;
    };
    other.record.pid = 1;
    ASSERT_TRUE(other.publish());
    EXPECT_FALSE(waits_for_both()) << "the other one will end";
    Slot ticket = participant(State::waiting, 40);
    ticket.record.pid = 1;
    ASSERT_TRUE(ticket.publish());
    EXPECT_TRUE(waits_for_both());
    other.record.pid_namespace = 2;
    ASSERT_TRUE(other.publish());
    EXPECT_FALSE(waits_for_both()) << "process 1 of another container";
    other.release();
    glint::test::expect_error<LeaseTimeout>([&] { acquire(60, 1); }, {"this process itself holds"});
}
