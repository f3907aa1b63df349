// Programs under another process's lease: their parts, and what is published on behalf of other programs.
// SPDX-License-Identifier: MIT
#include "gpu/lease/inherited_lease.hpp"

#include <sys/wait.h>

#include <csignal>

#include "tests/expect_error.hpp"
#include "tests/lease_fixture.hpp"

using namespace glint::gpu;
using namespace glint::gpu::lease;
using namespace glint::gpu::lease::test;
using glint::test::expect_error;

namespace {

struct InheritedLease : LeaseTest {
    std::vector<std::string> log;

    std::string variable(const Lease& lease, const std::string& name) const {
        for (const auto& [found, value] : lease.child_environment())
            if (found == name) return value;
        return "none";
    }
    /// Acquires as a program under this lease would.
    Lease inherit_from(const Lease& lease, LeaseRequest request) {
        Dependencies inside = deps;
        inside.inherited = variable(lease, "GLINT_LEASE");
        request.timeout_s = 0;
        request.log = [this](const std::string& words) { log.push_back(words); };
        return acquire_in(inside, request);
    }
    std::size_t holders() const { return snapshot_in(deps).gpus.at(0).holders.size(); }
};

/// A process started by this test, which NVML can show.
class Sleeper {
  public:
    Sleeper() : pid_(::fork()) {
        if (pid_ == 0)
            for (;;) ::pause();
    }
    ~Sleeper() { ::kill(pid_, SIGKILL), ::waitpid(pid_, nullptr, 0); }
    unsigned pid() const { return unsigned(pid_); }

  private:
    pid_t pid_;
};

}  // namespace

TEST_F(InheritedLease, a_program_under_a_lease_has_part_of_it_at_once) {
    const Lease lease = acquire(60);
    const Lease part = inherit_from(lease, {.bytes = 40 * gib});
    EXPECT_EQ(part.bytes(), 40 * gib);
    EXPECT_TRUE(part.visible());
    EXPECT_EQ(part.devices().at(0).uuid, "GPU-test-0");
    EXPECT_EQ(part.devices().at(0).context_bytes, context_bytes);
    EXPECT_EQ(holders(), 1u) << "it is no second lease";
    part.publish_held(10 * gib);
    EXPECT_EQ(snapshot_in(deps).gpus[0].holders[0].held_bytes, 0u) << "whoever has the lease publishes";
    EXPECT_FALSE(part.others_wait());
    const Lease part_of_part = inherit_from(part, {.bytes = 70 * gib});
    EXPECT_EQ(part_of_part.bytes(), 40 * gib) << "no more than there is";
    EXPECT_TRUE(log.empty());
}

TEST_F(InheritedLease, a_lease_made_smaller_gives_less) {
    Lease lease = acquire(60);
    lease.shrink(20 * gib);
    EXPECT_EQ(inherit_from(lease, {.bytes = 40 * gib}).bytes(), 20 * gib);
}

TEST_F(InheritedLease, its_parts_are_together_no_more_than_it) {
    const Lease lease = acquire(60);
    std::optional<Lease> first = inherit_from(lease, {.bytes = 40 * gib});
    expect_error<LeaseTimeout>([&] { inherit_from(lease, {.bytes = 40 * gib}); },
                               {"60.0 GiB on each GPU", "20.0 GiB are left", "40.0 GiB are needed", "(40.0 GiB)"});
    const Lease second = inherit_from(lease, {.bytes = 20 * gib});
    first->shrink(10 * gib);
    const Lease third = inherit_from(lease, {.bytes = 30 * gib});
    EXPECT_THROW(inherit_from(lease, {.bytes = gib}), LeaseTimeout);
    first.reset();
    EXPECT_EQ(inherit_from(lease, {.bytes = 10 * gib}).bytes(), 10 * gib);
    EXPECT_EQ(holders(), 1u) << "for others it is one lease";
}

TEST_F(InheritedLease, a_part_waits_for_the_others) {
    const Lease lease = acquire(60);
    std::optional<Lease> first = inherit_from(lease, {.bytes = 40 * gib});
    Dependencies inside = deps;
    inside.inherited = variable(lease, "GLINT_LEASE");
    clock->at(clock->seconds() + 5, [&] {
        EXPECT_TRUE(first->others_wait());
        EXPECT_FALSE(lease.others_wait()) << "they are its own";
        first.reset();
    });
    int told = 0;
    LeaseRequest request{.bytes = 40 * gib, .timeout_s = 60};
    request.on_wait = [&](double, std::uint64_t available, std::uint64_t required) {
        told += available == 20 * gib && required == 40 * gib;
    };
    const Lease second = acquire_in(inside, request);
    EXPECT_NEAR(second.waited_s(), 5, 0.5) << "it looks four times a second";
    EXPECT_GT(told, 10);
    glint::StopFlag stop{true};
    EXPECT_THROW(acquire_in(inside, {.bytes = 40 * gib, .stop = &stop}), glint::Cancelled);
}

TEST_F(InheritedLease, a_further_process_costs_it_a_context) {
    const Lease lease = acquire(60);
    Lease first = inherit_from(lease, {.bytes = 40 * gib});
    Slot other = participant(State::part_holding, 10);
    const ScannedSlot of = [&] {
        for (const ScannedSlot& slot : scan().slots)
            if (slot.record.state == State::holding) return slot;
        return ScannedSlot();
    }();
    other.record.lease_uid = of.name.uid, other.record.lease_number = of.name.number;
    other.record.lease_occupancy = of.record.occupancy;
    other.record.pid = 1;
    ASSERT_TRUE(other.publish());
    EXPECT_THROW(inherit_from(lease, {.bytes = 10 * gib}), LeaseTimeout);
    inherit_from(lease, {.bytes = 9 * gib});
    other.release();  // as if its process had ended
    inherit_from(lease, {.bytes = 20 * gib});
}

TEST_F(InheritedLease, of_two_claims_of_parts_the_earlier_wins) {
    const Lease lease = acquire(60);
    Dependencies inside = deps;
    inside.inherited = variable(lease, "GLINT_LEASE");
    std::optional<Lease> other;
    inside.test_point = [&](const char* point) {
        if (point != std::string("part claimed") || other) return;
        Dependencies later = inside;
        later.test_point = [](const char*) {};
        EXPECT_THROW(acquire_in(later, {.bytes = 40 * gib, .timeout_s = 0}), LeaseTimeout) << "it came later";
        other.emplace(inherit_from(lease, {.bytes = 20 * gib}));
    };
    EXPECT_EQ(acquire_in(inside, {.bytes = 40 * gib, .timeout_s = 0}).bytes(), 40 * gib);
    EXPECT_TRUE(other);
}

TEST_F(InheritedLease, another_users_lease_is_not_taken) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can make a file of another user";
    const Lease lease = acquire(60);
    const SlotName own = scan().slots.at(0).name;
    const SlotName theirs{65534, own.number};
    ASSERT_EQ(::rename((folder / own.text()).c_str(), (folder / theirs.text()).c_str()), 0);
    ASSERT_EQ(::chown((folder / theirs.text()).c_str(), 65534, 65534), 0);
    Dependencies inside = deps;
    inside.inherited = name_of_lease(theirs, scan().slots.at(0).record.occupancy);
    LeaseRequest request{.bytes = 10 * gib, .timeout_s = 0};
    request.log = [this](const std::string& words) { log.push_back(words); };
    const Lease mine = acquire_in(inside, request);
    EXPECT_EQ(holders(), 2u) << "a lease of its own";
    ASSERT_FALSE(log.empty());
    EXPECT_NE(log[0].find("another user's"), std::string::npos) << log[0];
}

TEST_F(InheritedLease, of_several_gpus_it_has_those_with_the_most_room) {
    probe->observation = gpus(3);
    const Lease lease = acquire_in(deps, {.bytes = 20 * gib, .gpus = 2, .timeout_s = 0});
    gpu(0).free_bytes = 10 * gib, gpu(1).free_bytes = 30 * gib;
    EXPECT_EQ(inherit_from(lease, {.bytes = gib}).devices().at(0).ordinal, 1);
    EXPECT_EQ(inherit_from(lease, {.bytes = gib, .gpus = 2}).devices().size(), 2u);
    expect_error<NoGpu>([&] { inherit_from(lease, {.bytes = gib, .gpus = 3}); }, {"3 GPUs", "has 2", "`lease_gpus`"});
    probe->observation.gpus[1].usable = false;
    EXPECT_EQ(inherit_from(lease, {.bytes = gib}).devices().at(0).ordinal, 0);
}

TEST_F(InheritedLease, a_lease_that_has_ended_is_not_taken_for_the_next_one_in_its_slot) {
    std::optional<Lease> lease = acquire(60);
    Dependencies inside = deps;
    inside.inherited = variable(*lease, "GLINT_LEASE");
    lease.reset();
    LeaseRequest request{.bytes = 30 * gib, .timeout_s = 0};
    request.log = [this](const std::string& words) { log.push_back(words); };
    const Lease own = acquire_in(inside, request);
    EXPECT_EQ(holders(), 1u);
    ASSERT_EQ(log.size(), 1u);
    EXPECT_NE(log[0].find("has ended"), std::string::npos) << log[0];
    const Lease another = acquire_in(inside, request);
    EXPECT_EQ(holders(), 2u);
    for (const char* nonsense : {"x", "slot.0.0", "slot.0.0:", ":0", "slot.0.0:-1"}) {
        inside.inherited = nonsense;
        acquire_in(inside, {.bytes = gib, .timeout_s = 0});
    }
}

TEST_F(InheritedLease, where_none_of_its_gpus_can_be_used_another_lease_is_needed) {
    probe->observation = gpus(2);
    const Lease lease = acquire(60);
    probe->observation.gpus[std::size_t(lease.devices()[0].ordinal)].usable = false;
    const Lease own = inherit_from(lease, {.bytes = 60 * gib});
    EXPECT_NE(own.devices()[0].ordinal, lease.devices()[0].ordinal);
    ASSERT_EQ(log.size(), 1u);
    EXPECT_NE(log[0].find("CUDA_VISIBLE_DEVICES"), std::string::npos) << log[0];
}

TEST_F(InheritedLease, a_program_to_be_started_may_have_what_this_process_cannot_use) {
    probe->observation.gpus[0].usable = false;
    EXPECT_THROW(acquire(60), NoGpu);
    probe->observation.gpus[0].usable_by_child = true;
    EXPECT_THROW(acquire(60), NoGpu);
    const Lease lease = acquire_in(deps, {.bytes = 60 * gib, .timeout_s = 0, .for_child = true});
    EXPECT_EQ(variable(lease, "CUDA_VISIBLE_DEVICES"), "GPU-test-0");
}

TEST_F(InheritedLease, a_lease_that_nobody_sees_cannot_be_named) {
    deps.directory = std::make_shared<StateDir>(folder / "not/there");
    Lease lease = acquire(60);
    EXPECT_EQ(lease.keep_for_child(), -1);
    EXPECT_EQ(variable(lease, "GLINT_LEASE"), "none");
    EXPECT_EQ(variable(lease, "GLINT_GPU_MEMORY_LIMIT"), std::to_string(60 * gib));
    lease.publish_held_by_child(1);
}

TEST_F(InheritedLease, publishes_what_the_program_and_its_children_have) {
    Lease lease = acquire(40);
    const Sleeper program, child;
    ASSERT_GE(lease.keep_for_child(), 0);
    ObservedGpu& seen = probe->observation.gpus[0];
    seen.processes = {{program.pid(), 5 * gib}, {child.pid(), 3 * gib}, {unsigned(::getppid()), 20 * gib}};
    gpu().processes = 3;
    gpu().free_bytes = 52 * gib;
    lease.publish_held_by_child(int(program.pid()));
    LeaseGpu found = snapshot_in(deps).gpus.at(0);
    EXPECT_EQ(found.holders.at(0).held_bytes, 5 * gib);
    EXPECT_EQ(found.holders[0].contexts, 1);
    EXPECT_EQ(found.foreign_count, 2);
    lease.publish_held_by_child(::getpid());  // the parent of both
    found = snapshot_in(deps).gpus.at(0);
    EXPECT_EQ(found.holders[0].held_bytes, 8 * gib);
    EXPECT_EQ(found.holders[0].contexts, 2);
    EXPECT_EQ(found.foreign_count, 1);
    EXPECT_EQ(found.available_bytes, 52 * gib - (40 * gib + context_bytes - 8 * gib));
    seen.processes = {{unsigned(::getppid()), 20 * gib}};
    lease.publish_held_by_child(::getpid());
    EXPECT_EQ(snapshot_in(deps).gpus[0].holders[0].contexts, 0) << "it has given everything back";
}

TEST_F(InheritedLease, more_than_was_reserved_is_published_as_it_is) {
    Lease lease = acquire(4);
    lease.keep_for_child();
    probe->observation.gpus[0].processes = {{unsigned(::getpid()), 50 * gib}};
    gpu().processes = 1, gpu().free_bytes = 30 * gib;
    lease.publish_held_by_child(::getpid());
    const LeaseGpu found = snapshot_in(deps).gpus.at(0);
    EXPECT_EQ(found.holders.at(0).held_bytes, 50 * gib);
    EXPECT_EQ(found.available_bytes, 30 * gib);
}

TEST_F(InheritedLease, what_is_free_again_is_not_held_although_nvml_still_shows_it) {
    Lease lease = acquire(40);
    lease.keep_for_child();
    probe->observation.gpus[0].processes = {{unsigned(::getpid()), 30 * gib}};
    gpu().processes = 1, gpu().free_bytes = 75 * gib;
    lease.publish_held_by_child(::getpid());
    const LeaseGpu found = snapshot_in(deps).gpus.at(0);
    EXPECT_EQ(found.holders.at(0).held_bytes, 5 * gib);
    EXPECT_EQ(found.available_bytes, 80 * gib - (40 * gib + context_bytes));
}

// In a container, memory that appears after the start of the program and belongs to no other lease counts as the
// program's.
TEST_F(InheritedLease, where_processes_are_hidden_memory_that_nothing_else_explains_is_the_programs) {
    gpu().free_bytes = 79 * gib;  // a foreign process has some
    Lease lease = acquire(10);
    Slot other = participant(State::holding, 20);
    lease.keep_for_child();
    const auto held = [&](std::uint64_t free) {
        gpu().free_bytes = free;
        lease.publish_held_by_child(::getpid());
        return snapshot_in(deps).gpus.at(0).holders.at(0).held_bytes;
    };
    EXPECT_EQ(held(79 * gib), 0u);
    EXPECT_EQ(held(79 * gib - (1 << 20)), 0u) << "less than a context";
    EXPECT_EQ(held(76 * gib), 3 * gib);
    other.record.shares[0].held_bytes = 20 * gib;
    other.publish();
    EXPECT_EQ(held(54 * gib), 5 * gib);
    EXPECT_EQ(held(20 * gib), 10 * gib + context_bytes) << "no more than was reserved";
    EXPECT_EQ(held(59 * gib), 0u);
    // Processes of another pid namespace count as hidden.
    probe->observation.gpus[0].processes = {{4'194'305, 5 * gib}};
    EXPECT_EQ(held(54 * gib), 5 * gib);
    // If NVML shows the process but not its memory, the growth is the best estimate.
    probe->observation.gpus[0].processes = {{unsigned(::getpid()), 0}};
    EXPECT_EQ(held(55 * gib), 4 * gib);
}
