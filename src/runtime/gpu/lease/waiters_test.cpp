// Waiting requests are known at the next evaluation, and the cost does not grow with the number of leases.
// SPDX-License-Identifier: MIT
#include "gpu/lease/waiters.hpp"

#include <sys/inotify.h>
#include <sys/stat.h>

#include <limits>
#include <random>

#include "tests/lease_fixture.hpp"

using namespace glint::gpu;
using namespace glint::gpu::lease;
using namespace glint::gpu::lease::test;

namespace {

/// Counts how often files of a folder are opened, as reported by the kernel.
class Opens {
  public:
    explicit Opens(const std::string& folder) : queue_(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {
        // Closes are watched, too, because the kernel merges equal consecutive events.
        ::inotify_add_watch(queue_.get(), folder.c_str(), IN_OPEN | IN_CLOSE);
        EXPECT_TRUE(queue_);
    }
    int count() {
        alignas(inotify_event) char events[1 << 16];
        for (ssize_t size; (size = ::read(queue_.get(), events, sizeof events)) > 0;)
            for (ssize_t at = 0; at < size;) {
                const auto* event = reinterpret_cast<const inotify_event*>(events + at);
                count_ += (event->mask & IN_OPEN) != 0;
                EXPECT_FALSE(event->mask & IN_Q_OVERFLOW);
                at += ssize_t(sizeof *event + event->len);
            }
        return count_;
    }

  private:
    Descriptor queue_;
    int count_ = 0;
};

struct LeaseWaiters : LeaseTest {
    static constexpr double unknown_s = std::numeric_limits<double>::infinity();
    std::shared_ptr<Waiters> waiters = std::make_shared<Waiters>();
    WaitingFile file{*deps.directory};

    /// The state at the next heartbeat of a holder.
    std::optional<double> next() {
        clock->advance(1);
        return waiters->shortest_s(deps.directory, 0, clock->now_ns(),
                                   [](const Record& record) { return record.state == State::waiting; });
    }
    void beat(Slot& slot) {
        slot.record.beat_ns = clock->now_ns();
        slot.publish();
        file.show(slot);
    }
    Slot waiter(double expected_s = 0) {
        Slot slot = participant(State::waiting, 70);
        slot.record.expected_ms = std::uint32_t(expected_s * 1e3);
        beat(slot);
        return slot;
    }
};

}  // namespace

TEST_F(LeaseWaiters, are_known_at_the_next_look_and_forgotten_when_they_end) {
    EXPECT_EQ(next(), std::nullopt);
    std::optional<Slot> first = waiter(9);
    EXPECT_EQ(next(), 9);
    std::optional<Slot> second = waiter();
    EXPECT_EQ(next(), 9);
    std::optional<Slot> third = waiter(4);
    EXPECT_EQ(next(), 4) << "although others wait already";
    third->record.state = State::holding, third->publish();
    EXPECT_EQ(next(), 9);
    beat(*second);
    first.reset();  // as when it is killed
    EXPECT_EQ(next(), unknown_s);
    std::optional<Slot> in_the_same_slot = waiter(2);
    EXPECT_EQ(next(), 2);
    in_the_same_slot.reset(), second.reset();
    EXPECT_EQ(next(), std::nullopt);
}

TEST_F(LeaseWaiters, one_that_claims_in_vain_waits_on) {
    EXPECT_EQ(next(), std::nullopt);
    Slot slot = waiter(3);
    slot.record.state = State::claiming, slot.publish();
    for (int look = 0; look < 2; ++look) EXPECT_EQ(next(), std::nullopt);
    slot.record.state = State::waiting, slot.publish();
    EXPECT_EQ(next(), 3);
}

TEST_F(LeaseWaiters, one_that_was_stopped_does_not_count_until_it_goes_on) {
    EXPECT_EQ(next(), std::nullopt);
    Slot stopped = waiter(3);
    EXPECT_EQ(next(), 3);
    clock->advance(10);
    EXPECT_EQ(next(), std::nullopt);
    const Slot other = waiter(5);
    EXPECT_EQ(next(), 5);
    beat(stopped);
    EXPECT_EQ(next(), 3);
}

TEST_F(LeaseWaiters, are_seen_although_they_can_leave_no_mark) {
    EXPECT_EQ(next(), std::nullopt);
    {
        const Slot gone = waiter();
        EXPECT_EQ(next(), unknown_s);
    }
    EXPECT_EQ(next(), std::nullopt);
    Slot unmarked = participant(State::waiting, 70);
    ::utimensat(deps.directory->descriptor(), "waiting", nullptr, 0);
    EXPECT_EQ(next(), unknown_s);
}

TEST_F(LeaseWaiters, of_before_a_lease_do_not_wait_for_it) {
    const auto at = [&](std::uint64_t since_ns) {
        return waiters->shortest_s(deps.directory, since_ns, clock->now_ns(), [](const Record&) { return true; });
    };
    std::optional<Slot> first = waiter();
    const std::uint64_t began_ns = clock->now_ns();
    clock->advance(1);
    EXPECT_NE(at(began_ns), std::nullopt);
    clock->advance(0.01);
    first.reset();
    EXPECT_NE(at(began_ns), std::nullopt) << "it was seen a moment ago";
    EXPECT_EQ(at(clock->now_ns()), std::nullopt);
}

TEST_F(LeaseWaiters, in_a_new_directory_are_others) {
    const Slot here = waiter(3);
    EXPECT_EQ(next(), 3);
    std::filesystem::remove_all(folder.path());
    deps.directory = std::make_shared<StateDir>(folder.path());
    EXPECT_EQ(next(), std::nullopt);
}

TEST_F(LeaseWaiters, are_seen_whatever_others_write_into_their_file) {
    std::mt19937_64 random(1);
    { const Slot makes_the_file = waiter(); }
    EXPECT_EQ(next(), std::nullopt);
    for (int k = 0; k < 200; ++k) {
        std::string noise(k % 50 ? 4096 : k, '\0');
        for (char& byte : noise) byte = char(random() % (k % 3 ? 3 : 256));
        const Descriptor written(::open((folder / "waiting").c_str(), O_WRONLY | O_TRUNC));
        ASSERT_EQ(::write(written.get(), noise.data(), noise.size()), ssize_t(noise.size()));
        EXPECT_EQ(next(), std::nullopt);
        Slot slot = waiter(2);
        EXPECT_EQ(next(), 2) << k;
    }
}

TEST_F(LeaseWaiters, cost_the_same_beside_many_leases) {
    constexpr int leases = 40, rounds = 10;
    for (const bool one_process : {true, false}) {
        std::vector<std::unique_ptr<LeaseState>> holders;
        for (int k = 0; k < leases; ++k) {
            deps.waiters = one_process && k ? holders[0]->waiters : std::make_shared<Waiters>();
            holders.push_back(acquire_state(deps, {.bytes = gib, .timeout_s = 0}));
            holders.back()->on_wanted = [](double) {};
        }
        Slot slot = waiter();
        const auto heartbeats = [&] {
            int wanted = 0;
            clock->advance(1);
            beat(slot);
            for (const auto& holder : holders) wanted += bool(holder->beat());
            return wanted;
        };
        heartbeats();  // the first reads all
        Opens opens(folder.path());
        for (int k = 0; k < rounds; ++k) EXPECT_EQ(heartbeats(), leases);
        // The file `waiting` and one slot.
        EXPECT_LE(opens.count(), 2 * rounds * (one_process ? 1 : leases)) << one_process;
        EXPECT_GE(opens.count(), rounds);
    }
}
