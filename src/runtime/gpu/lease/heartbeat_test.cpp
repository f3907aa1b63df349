// The heartbeat: leases that vanish from the directory appear again, and holders are notified of waiting requests.
// SPDX-License-Identifier: MIT
#include "gpu/lease/heartbeat.hpp"

#include <sys/stat.h>
#include <sys/wait.h>

#include <atomic>
#include <limits>
#include <thread>

#include "tests/lease_fixture.hpp"

using namespace glint::gpu;
using namespace glint::gpu::lease;
using namespace glint::gpu::lease::test;

namespace {

struct LeaseHeartbeat : LeaseTest {
    std::unique_ptr<LeaseState> state(std::uint64_t gibibytes) {
        return acquire_state(deps, {.bytes = gibibytes * gib, .timeout_s = 0});
    }
    /// Returns the holders as another process, which opens the directory again, would see them.
    std::vector<ScannedSlot> holders() const {
        std::vector<ScannedSlot> holding;
        for (const ScannedSlot& slot : StateDir(folder.path()).scan().slots)
            if (slot.alive && slot.record.state == State::holding) holding.push_back(slot);
        return holding;
    }
    void remove_all() const {
        for (const std::string& name : folder.names()) std::filesystem::remove_all(folder / name);
    }
    /// Runs the next heartbeat.
    bool calls(LeaseState& state) {
        bool called = false;
        clock->advance(1);
        {
            const std::lock_guard lock(state.mutex);
            state.on_wanted = [&called](double) { called = true; };
        }
        if (const auto call = state.beat()) call();
        return called;
    }
};

}  // namespace

TEST_F(LeaseHeartbeat, a_removed_slot_appears_again_under_its_name) {
    const auto first = state(10), second = state(20);
    const std::vector<ScannedSlot> before = holders();
    ASSERT_EQ(before.size(), 2u);
    remove_all();
    EXPECT_TRUE(holders().empty());
    second->beat(), first->beat();
    const std::vector<ScannedSlot> after = holders();
    ASSERT_EQ(after.size(), 2u);
    for (std::size_t k = 0; k < 2; ++k) {
        EXPECT_EQ(after[k].name, before[k].name);
        EXPECT_EQ(after[k].record.occupancy, before[k].record.occupancy) << "a part of GLINT_LEASE";
        EXPECT_EQ(after[k].record.used_shares()[0].reserved_bytes, before[k].record.used_shares()[0].reserved_bytes);
    }
    EXPECT_THROW(acquire(60), LeaseTimeout);
}

TEST_F(LeaseHeartbeat, whose_name_was_taken_meanwhile_appears_under_another) {
    const auto lease = state(10);
    remove_all();
    const Slot thief = participant(State::waiting, 1);
    lease->beat();
    ASSERT_EQ(holders().size(), 1u);
    EXPECT_NE(holders()[0].name, thief.name());
    EXPECT_EQ(holders()[0].record.used_shares()[0].reserved_bytes, 10 * gib + context_bytes);
}

TEST_F(LeaseHeartbeat, a_removed_directory_is_made_anew) {
    const auto lease = state(60);
    std::filesystem::remove_all(folder.path());
    lease->beat();
    ASSERT_EQ(holders().size(), 1u);
    struct stat status {};
    ASSERT_EQ(::stat(folder.path().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, 01777u);
    deps.directory = std::make_shared<StateDir>(folder.path());
    EXPECT_THROW(acquire(40), LeaseTimeout);
}

TEST_F(LeaseHeartbeat, a_directory_that_was_moved_away_is_made_anew) {
    const auto lease = state(60);
    const std::string elsewhere = folder.path().string() + ".moved";
    std::filesystem::rename(folder.path(), elsewhere);  // the slot's file keeps its name there
    lease->beat();
    std::filesystem::remove_all(elsewhere);
    ASSERT_EQ(holders().size(), 1u);
    EXPECT_EQ(holders()[0].record.used_shares()[0].reserved_bytes, 60 * gib + context_bytes);
}

TEST_F(LeaseHeartbeat, who_waits_in_a_removed_directory_waits_in_the_next) {
    const auto lease = state(60);
    clock->at(5, [&] { std::filesystem::remove_all(folder.path()); });
    clock->at(6, [&] { lease->beat(); });
    clock->at(20, [&] {
        const std::lock_guard lock(lease->mutex);
        lease->slot->release();
    });
    const Lease second = acquire(40, 100);
    EXPECT_GE(second.waited_s(), 20);
    EXPECT_TRUE(second.visible());
}

TEST_F(LeaseHeartbeat, calls_while_others_wait) {
    const auto lease = state(60);
    EXPECT_FALSE(calls(*lease));
    LeaseRequest request{.bytes = 40 * gib, .timeout_s = 20};
    int called = 0;
    request.on_wait = [&](double, std::uint64_t, std::uint64_t) { called += calls(*lease); };
    EXPECT_THROW(acquire_in(deps, request), LeaseTimeout);
    EXPECT_GT(called, 10);
    clock->advance(10);
    EXPECT_FALSE(calls(*lease));
}

TEST_F(LeaseHeartbeat, calls_for_its_own_gpus_only) {
    probe->observation = gpus(2);
    const auto lease = state(60);
    const std::size_t other = lease->devices[0].ordinal == 0 ? 1 : 0;
    const Slot waiter = participant(State::waiting, 70, 0, other);
    WaitingFile file(*deps.directory);
    file.show(waiter);
    EXPECT_FALSE(calls(*lease));
    const Slot another = participant(State::waiting, 70, 0, 1 - other);
    file.show(another);
    EXPECT_TRUE(calls(*lease));
}

TEST_F(LeaseHeartbeat, makes_no_room_for_a_waiter_that_is_stopped) {
    const auto lease = state(60);
    const Slot stopped = participant(State::waiting, 70);
    EXPECT_TRUE(calls(*lease));
    clock->advance(121);  // the holder reads all slots after this time in any case
    EXPECT_FALSE(calls(*lease));
}

TEST_F(LeaseHeartbeat, says_how_short_the_shortest_of_those_is_that_wait) {
    const auto lease = state(60);
    double shortest_s = 0;
    const auto beat = [&] {
        lease->on_wanted = [&](double s) { shortest_s = s; };
        clock->advance(121);
        if (const auto call = lease->beat()) call();
        return shortest_s;
    };
    std::vector<Slot> waiting;
    const auto comes = [&](std::uint32_t expected_ms) {
        waiting.push_back(participant(State::waiting, 70));
        for (Slot& slot : waiting) {
            if (&slot == &waiting.back()) slot.record.expected_ms = expected_ms;
            slot.record.beat_ns = clock->now_ns() + 121'000'000'000;
            slot.publish();
        }
        return beat();
    };
    EXPECT_EQ(comes(0), std::numeric_limits<double>::infinity()) << "it does not say";
    EXPECT_EQ(comes(5000), 5);
    EXPECT_EQ(comes(1500), 1.5);
    EXPECT_EQ(comes(9000), 1.5);
    EXPECT_EQ(comes(0), 1.5);
}

TEST_F(LeaseHeartbeat, hears_of_waiters_although_their_file_cannot_be_touched) {
    for (const std::string how : {"a directory", "not for all"}) {
        remove_all();
        const auto lease = state(60);
        const std::string file = folder / "waiting";
        std::filesystem::remove(file);
        how == "a directory" ? ::mkdir(file.c_str(), 0777) : ::close(::open(file.c_str(), O_CREAT | O_WRONLY, 0600));
        EXPECT_FALSE(calls(*lease)) << how;
        const Slot waiter = participant(State::waiting, 70);
        clock->advance(1);
        EXPECT_TRUE(calls(*lease)) << how;
    }
}

TEST_F(LeaseHeartbeat, looks_now_and_then_although_nobody_says_so) {
    const auto lease = state(60);
    EXPECT_FALSE(calls(*lease));
    Slot waiter = participant(State::waiting, 70);  // another user prevents its process from touching the file
    clock->advance(1);
    EXPECT_FALSE(calls(*lease));
    clock->advance(120);
    waiter.record.beat_ns = clock->now_ns(), waiter.publish();
    EXPECT_TRUE(calls(*lease));
}

TEST(Heartbeat, beats_until_it_is_destroyed) {
    std::atomic<int> beats{0};
    {
        const Heartbeat heartbeat([&] { ++beats; });
        for (int k = 0; k < 600 && beats < 2; ++k) std::this_thread::sleep_for(std::chrono::milliseconds(100));
        EXPECT_GE(beats, 2);
    }
    const int last = beats;
    std::this_thread::sleep_for(std::chrono::milliseconds(1200));
    EXPECT_EQ(beats, last);
}

TEST(Heartbeat, its_call_may_end_it_and_its_end_waits_for_the_call) {
    std::unique_ptr<Heartbeat> own, other;
    std::atomic<bool> made{false}, ended{false}, entered{false}, left{false};
    own = std::make_unique<Heartbeat>([&] {
        if (made) own.reset(), ended = true;
    });
    made = true;
    for (int k = 0; k < 600 && !ended; ++k) std::this_thread::sleep_for(std::chrono::milliseconds(100));
    EXPECT_TRUE(ended);
    other = std::make_unique<Heartbeat>([&] {
        entered = true;
        std::this_thread::sleep_for(std::chrono::milliseconds(300));
        left = true;
    });
    for (int k = 0; k < 600 && !entered; ++k) std::this_thread::sleep_for(std::chrono::milliseconds(100));
    other.reset();
    EXPECT_TRUE(left);
}

TEST(Heartbeat, goes_on_in_a_forked_child_for_its_own) {
#ifdef __SANITIZE_THREAD__
    GTEST_SKIP() << "ThreadSanitizer starts no thread in the child of a process with several";
#endif
    std::atomic<int> beats{0};
    auto heartbeat = std::make_unique<Heartbeat>([&] { ++beats; });
    // From then on, the heartbeat's thread sleeps, and is not in the allocator of AddressSanitizer, which a fork would
    // leave locked.
    for (int k = 0; k < 600 && beats < 1; ++k) std::this_thread::sleep_for(std::chrono::milliseconds(100));
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    const pid_t child = ::fork();
    if (child == 0) {
        heartbeat.reset();  // the parent's heartbeat
        beats = 0;
        const Heartbeat own([&] { ++beats; });
        for (int k = 0; k < 600 && beats < 1; ++k) std::this_thread::sleep_for(std::chrono::milliseconds(100));
        ::_exit(beats >= 1 ? 0 : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
}
