// The context creation lock: contexts are created one at a time on each GPU, and every wait ends.
// SPDX-License-Identifier: MIT
#include "gpu/lease/context_creation_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <optional>

#include "tests/expect_error.hpp"
#include "tests/lease_fixture.hpp"

using namespace glint::gpu;
using namespace glint::gpu::lease;
using namespace glint::gpu::lease::test;
using glint::test::expect_error;

namespace {

struct ContextCreationLock : LeaseTest {
    using Lock = std::shared_ptr<void>;
    std::optional<Slot> other;  // the lease of another process that may be creating a context
    std::vector<std::string> log;

    void SetUp() override { other = participant(State::holding, 1); }
    Lock take(const LeaseRequest& request = {}) {
        CreationWait wait{.request = request};
        wait.request.log = [this](const std::string& words) { log.push_back(words); };
        return lock_context_creation(*deps.directory, probe->observation.gpus[0].id, *clock, wait);
    }
    /// Locks the GPU's file with flock(), as any user can.
    Descriptor seize() {
        take();
        for (const std::string& name : folder.names())
            if (name.starts_with("create.")) {
                Descriptor file(::open((folder / name).c_str(), O_RDONLY | O_CLOEXEC));
                EXPECT_EQ(::flock(file.get(), LOCK_EX | LOCK_NB), 0);
                return file;
            }
        ADD_FAILURE() << "no lock file";
        return {};
    }
    /// Pretends every two seconds that the lock has changed hands.
    void keep_touching(int file) {
        const timespec now[2] = {{time_t(clock->now_ns() / 1'000'000'000), 0},
                                 {time_t(clock->now_ns() / 1'000'000'000), 0}};
        EXPECT_EQ(::futimens(file, now), 0);
        clock->at(clock->seconds() + 2, [this, file] { keep_touching(file); });
    }
};

}  // namespace

TEST_F(ContextCreationLock, is_one_at_a_time_on_each_gpu) {
    Lock held = take();
    ASSERT_TRUE(held);
    EXPECT_TRUE(lock_context_creation(*deps.directory, GpuId{77}, *clock)) << "another GPU";
    EXPECT_EQ(clock->seconds(), 0);
    clock->at(1, [&] { held.reset(); });
    EXPECT_TRUE(take());
    EXPECT_NEAR(clock->seconds(), 1, 0.02);
}

TEST_F(ContextCreationLock, hears_a_stop_the_timeout_and_tells_that_it_waits) {
    const Lock held = take();
    glint::StopFlag stop{false};
    clock->at(1, [&] { stop = true; });
    expect_error<glint::Cancelled>([&] { take({.stop = &stop}); }, {"waiting for the turn to create a context"});
    EXPECT_NEAR(clock->seconds(), 1, 0.02);
    ASSERT_EQ(log.size(), 1u);
    const std::string me = "process " + std::to_string(::getpid()) + " (";
    EXPECT_NE(log[0].find(me), std::string::npos) << log[0];
    std::vector<double> times;
    LeaseRequest request{.timeout_s = 3};
    request.on_wait = [&](double elapsed_s, std::uint64_t, std::uint64_t) { times.push_back(elapsed_s); };
    expect_error<LeaseTimeout>([&] { take(request); },
                               {"no GPU was ready within 3 s", "contexts are created one at a time", me.c_str()});
    EXPECT_NEAR(clock->seconds(), 4, 0.02);
    EXPECT_EQ(times.front(), 0);
    EXPECT_GE(times.size(), 6u);
    EXPECT_LE(times.size(), 7u);
    EXPECT_THROW(take({.timeout_s = 0}), LeaseTimeout);
    EXPECT_NEAR(clock->seconds(), 4, 0.02);
}

TEST_F(ContextCreationLock, of_a_stopped_holder_is_waited_for_once) {
    const Lock held = take();
    EXPECT_FALSE(take());
    EXPECT_NEAR(clock->seconds(), creation_lock_stall_s, 0.05);
    EXPECT_NE(log.back().find("for more than 5 s: it is not waited for"), std::string::npos) << log.back();
    EXPECT_FALSE(take());
    EXPECT_FALSE(take({.timeout_s = 0})) << "and so do those get past it that have no time";
    EXPECT_NEAR(clock->seconds(), creation_lock_stall_s, 0.05);
}

TEST_F(ContextCreationLock, that_somebody_keeps_touching_is_waited_for_once) {
    const Descriptor seized = seize();
    keep_touching(seized.get());
    EXPECT_FALSE(take());
    const double waited_s = clock->seconds();
    EXPECT_NEAR(waited_s, creation_lock_timeout_s, 0.05);
    for (int k = 0; k < 3; ++k) EXPECT_FALSE(take());
    EXPECT_EQ(clock->seconds(), waited_s);
    ::flock(seized.get(), LOCK_UN);
    Lock held = take();
    EXPECT_TRUE(held);
    clock->at(waited_s + 7, [&] { held.reset(); });
    EXPECT_TRUE(take()) << "since it was free, it is waited for again";
    EXPECT_NEAR(clock->seconds(), waited_s + 7, 0.05);
}

// Waiters detect by the file's time that the lock changes hands.
TEST_F(ContextCreationLock, is_dated_by_each_who_has_it) {
    take();
    const timespec long_ago[2] = {{1, 0}, {1, 0}};
    for (const std::string& name : folder.names()) {
        if (!name.starts_with("create.")) continue;
        ASSERT_EQ(::utimensat(AT_FDCWD, (folder / name).c_str(), long_ago, 0), 0);
    }
    const Lock held = take();
    const auto holder = holder_of_context_creation(*deps.directory, probe->observation.gpus[0].id);
    ASSERT_TRUE(holder);
    EXPECT_LT(holder->since_s, 1e6);
}

TEST_F(ContextCreationLock, is_not_given_back_by_a_forked_child) {
    Lock held = take();
    const pid_t child = ::fork();
    if (child == 0) {
        held.reset();
        ::_exit(0);
    }
    ::waitpid(child, nullptr, 0);
    EXPECT_THROW(take({.timeout_s = 0}), LeaseTimeout);
}

TEST_F(ContextCreationLock, without_another_lease_on_the_gpu_is_not_waited_for) {
    const Descriptor seized = seize();
    other->release();
    EXPECT_FALSE(take());
    EXPECT_EQ(clock->seconds(), 0);
    EXPECT_NE(log.back().find("where nobody else has a lease"), std::string::npos) << log.back();
    // Neither the lease that the context is for counts, nor a lease on another GPU.
    probe->observation = gpus(2);
    const Slot elsewhere = participant(State::holding, 1, 0, 1);
    EXPECT_TRUE(acquire_in(deps, {.bytes = gib, .avoid = {"GPU-test-1"}}).lock_context_creation() == nullptr);
    EXPECT_EQ(clock->seconds(), 0);
}

TEST_F(ContextCreationLock, is_had_with_a_lease_for_a_context) {
    Lock held = take();
    double told_s = -1;
    LeaseRequest request{.bytes = 8 * gib, .timeout_s = 3, .for_context = true};
    request.on_wait = [&](double elapsed_s, std::uint64_t available, std::uint64_t required) {
        told_s = elapsed_s;
        EXPECT_EQ(available, 8 * gib + context_bytes);
        EXPECT_EQ(required, 8 * gib + context_bytes);
    };
    EXPECT_THROW(acquire_in(deps, request), LeaseTimeout);
    EXPECT_NEAR(told_s, 2.5, 0.5);
    EXPECT_EQ(snapshot_in(deps).gpus[0].holders.size(), 1u) << "the lease went back";
    clock->at(4, [&] { held.reset(); });
    std::optional<Lease> lease = acquire_in(deps, request);
    EXPECT_NEAR(lease->waited_s(), 1, 0.02);
    EXPECT_THROW(take({.timeout_s = 1}), LeaseTimeout) << "it is kept for the context";
    lease.reset();
    EXPECT_TRUE(take({.timeout_s = 0}));
}

TEST_F(ContextCreationLock, is_shown_with_its_holder) {
    EXPECT_EQ(snapshot_in(deps).gpus[0].creator_pid, 0u);
    const Lock held = take();
    EXPECT_EQ(snapshot_in(deps).gpus[0].creator_pid, unsigned(::getpid()));
}
