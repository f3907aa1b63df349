// Measured sizes of contexts and their maximum number per GPU: they are stored, and used within plausible limits. With
// a simulated clock, GPUs and neighbours.
// SPDX-License-Identifier: MIT
#include "gpu/lease/broker.hpp"

#include <utility>

#include "tests/expect_error.hpp"
#include "tests/lease_fixture.hpp"

using namespace glint::gpu;
using namespace glint::gpu::lease;
using namespace glint::gpu::lease::test;
using glint::test::expect_error;

namespace {
struct LeaseBrokerCosts : LeaseTest {};
}  // namespace

TEST_F(LeaseBrokerCosts, remembers_what_a_context_costs_for_this_user) {
    // Like create_context(); the fixture's GPUs have no contexts.
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

TEST_F(LeaseBrokerCosts, believes_in_no_context_larger_than_any_gpu_has_seen) {
    for (const auto& [mib, expected] : {std::pair(16384u, 16 * gib), std::pair(16385u, context_bytes)}) {
        Slot slot = participant(State::holding, 1);
        slot.record.known[0] = {probe->observation.gpus[0].id, probe->observation.driver, mib, 0, 0};
        slot.publish();
        slot.release();
        EXPECT_EQ(acquire(1).devices()[0].context_bytes, expected) << mib;
    }
}

TEST_F(LeaseBrokerCosts, an_unusual_context_is_forgotten_with_the_next_one) {
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

TEST_F(LeaseBrokerCosts, an_unusual_context_makes_no_request_impossible) {
    acquire_state(deps, {.bytes = gib, .timeout_s = 0})->learn(0, 8 * gib, 0);
    EXPECT_EQ(acquire(72).devices()[0].context_bytes, 8 * gib) << "it just fits";
    gpu().free_bytes = 78 * gib;  // the driver uses some memory on an empty GPU, too
    for (const std::uint64_t large : {71, 72, 75, 77})
        EXPECT_EQ(acquire(large).devices()[0].context_bytes, context_bytes) << large;
    EXPECT_EQ(acquire(70).devices()[0].context_bytes, 8 * gib);
    const Lease holder = acquire(75);
    EXPECT_EQ(scan().slots[0].record.used_shares()[0].reserved_bytes, 75 * gib + context_bytes);
    expect_error<LeaseTimeout>([&] { acquire(76); }, {"76.5 GiB with the context are needed"});
    expect_error<LeaseTimeout>([&] { acquire(4); },
                               {"12.0 GiB with the context are needed", "has 2.5 GiB of 80.0 GiB"});
}

TEST_F(LeaseBrokerCosts, a_learned_number_of_contexts_is_believed_within_reason) {
    gpu().processes = 20;
    const auto known = [&](std::uint32_t most, std::uint32_t uid) {
        Slot slot = participant(State::holding, 1);
        slot.record.known[0] = {probe->observation.gpus[0].id, probe->observation.driver, 0, most,
                                to_seconds(clock->now_ns())};
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

TEST_F(LeaseBrokerCosts, the_size_and_the_number_of_contexts_are_remembered_apart) {
    auto state = acquire_state(deps, {.bytes = gib, .timeout_s = 0});
    state->learn(0, 0, 20);
    clock->advance(599);
    state->learn(0, 700 << 20, 0);
    gpu().processes = 20;
    expect_error<LeaseTimeout>([&] { acquire(1); }, {"as many contexts as it can hold"});
    clock->advance(2);
    EXPECT_EQ(acquire(1).devices()[0].context_bytes, std::uint64_t(700) << 20);
}
