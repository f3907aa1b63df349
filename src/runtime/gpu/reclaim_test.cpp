// Early reclaim: when memory is short, what is returned, and what is not tried again.
// SPDX-License-Identifier: MIT
#include <chrono>
#include <thread>

#include "gpu/context_state.hpp"
#include "gpu/gpu_fixture.hpp"
#include "gpu/lease/lease_state.hpp"
#include "gpu/pool.hpp"

using namespace glint::gpu;
using namespace glint::gpu::test;

namespace {

struct GpuReclaim : GpuTest {
    /// Synchronizes until the condition holds, for at most a minute, because reclaims are spaced in time.
    static bool comes(const Context& context, const std::function<bool(const MemoryStatistics&)>& it_is_so) {
        for (int k = 0; k < 6000; ++k) {
            context.synchronize();
            if (it_is_so(context.statistics())) return true;
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
        return false;
    }
    void TearDown() override {
        if (set_stranger()) set_stranger()(0, 0, 0);
    }
};

std::vector<Buffer<char>> buffers(const Stream& stream, int count, std::uint64_t bytes) {
    std::vector<Buffer<char>> all;
    for (int k = 0; k < count; ++k) all.emplace_back(stream, bytes);
    return all;
}

}  // namespace

TEST_F(GpuReclaim, what_nobody_uses_goes_back_although_little_is_in_use) {
    const Context context(0, {.limit_bytes = 512 * mib});
    const Stream stream(context);
    buffers(stream, 7, 60 * mib);
    const Buffer<char> small(stream, 40);
    stream.synchronize();
    const MemoryStatistics now = context.statistics();
    EXPECT_EQ(now.early_reclaims, 1u);
    EXPECT_LE(now.reserved_bytes, 64 * mib);
    EXPECT_GE(now.early_reclaimed_bytes, 384 * mib);
}

// The memory use of a training run: data that stays, and batches whose garbage fills the limit. Early reclaim returns
// it in each epoch, and no allocation has to fail first.
TEST_F(GpuReclaim, each_epoch_of_garbage_goes_back_and_no_allocation_fails) {
    for (const bool early : {true, false}) {
        const Context context(0, {.limit_bytes = 512 * mib, .early_reclaim = early});
        const Stream stream(context);
        const Buffer<char> data(stream, 160 * mib);
        constexpr int epochs = 5;
        for (int epoch = 0; epoch < epochs; ++epoch) {
            buffers(stream, 6, 48 * mib);
            const auto returned = [](const MemoryStatistics& now) { return now.reserved_bytes <= 192 * mib; };
            if (early)
                EXPECT_TRUE(comes(context, returned)) << epoch;
            else
                context.synchronize();
        }
        const MemoryStatistics now = context.statistics();
        EXPECT_EQ(now.retries, 0u);
        if (early) {
            EXPECT_EQ(now.early_reclaims, unsigned(epochs));
            EXPECT_GE(now.early_reclaimed_bytes, epochs * 224 * mib);
        } else {
            EXPECT_EQ(now.early_reclaimed_bytes, 0u);
            EXPECT_GE(now.reserved_bytes, 416 * mib);
        }
    }
}

TEST_F(GpuReclaim, what_cannot_go_back_is_not_tried_again) {
    if (!set_stranger()) GTEST_SKIP() << "where a driver puts allocations is its own affair";
    const Context context(0, {.limit_bytes = 512 * mib});
    const Stream stream(context);
    std::vector<Buffer<char>> halves = buffers(stream, 24, 16 * mib);  // two in each granule of the pool
    stream.synchronize();
    for (std::size_t k = 0; k < halves.size(); k += 2) halves[k] = {};
    for (int k = 0; k < 100; ++k) stream.synchronize();
    EXPECT_EQ(context.statistics().reserved_bytes, 384 * mib);
    EXPECT_EQ(context.statistics().early_reclaims, 1u);
    for (std::size_t k = 1; k < halves.size() / 2; k += 2) halves[k] = {};
    EXPECT_TRUE(comes(context, [](const MemoryStatistics& now) { return now.early_reclaims > 1; }));
    EXPECT_EQ(context.statistics().reserved_bytes, 192 * mib) << "the granules that have become empty";
}

TEST_F(GpuReclaim, the_wait_grows_with_each_one_that_gives_nothing) {
    detail::Attempts attempts;
    attempts.note(0.001, true);
    for (const double expected : {0.002, 0.004, 0.008}) {
        attempts.note(0.001, false);
        EXPECT_EQ(attempts.seconds, expected);
    }
    for (int k = 0; k < 10; ++k) attempts.note(0.001, false);
    EXPECT_EQ(attempts.seconds, 0.1);
    attempts.note(3, false);
    EXPECT_EQ(attempts.seconds, 3) << "never less than it took";
    attempts.note(0.001, true);
    EXPECT_EQ(attempts.seconds, 0.001);
}

TEST_F(GpuReclaim, a_device_that_others_fill_is_short_of_memory) {
    if (!set_stranger()) GTEST_SKIP() << "a real GPU is not filled on purpose";
    for (const bool early : {true, false}) {
        const Context context(0, {.limit_bytes = 1024 * mib, .early_reclaim = early});
        const Stream stream(context);
        buffers(stream, 4, 32 * mib);
        stream.synchronize();
        EXPECT_EQ(context.statistics().reserved_bytes, 128 * mib) << "there is room for everybody";
        set_stranger()(0, 6144 * mib, 10);
        std::this_thread::sleep_for(std::chrono::milliseconds(200));  // it checks ten times a second
        stream.synchronize();
        EXPECT_EQ(context.statistics().reserved_bytes, early ? 0 : 128 * mib);
        set_stranger()(0, 0, 0);
    }
}

TEST_F(GpuReclaim, the_heartbeat_does_it_for_a_program_that_never_synchronizes) {
    if (!set_stranger()) GTEST_SKIP() << "a real GPU is not filled on purpose";
    const Lease lease = acquire({.bytes = 1024 * mib});
    const int ordinal = lease.devices()[0].ordinal;
    const Context context = lease.create_context();
    const Stream stream(context);
    buffers(stream, 4, 32 * mib);
    stream.synchronize();
    EXPECT_EQ(context.statistics().reserved_bytes, 128 * mib);
    set_stranger()(ordinal, 6144 * mib, 10);
    const auto kept = [&] { return context.statistics().reserved_bytes; };
    for (int k = 0; k < 600 && kept() > 0; ++k) std::this_thread::sleep_for(std::chrono::milliseconds(100));
    EXPECT_EQ(kept(), 0u);
    set_stranger()(ordinal, 0, 0);
}

TEST_F(GpuReclaim, a_request_that_waits_is_heard_at_a_synchronization) {
    struct Account final : detail::MemoryAccount {
        bool wanted = false;
        int asked = 0;
        void give_back(const std::function<void()>& release) override { release(); }
        bool is_wanted() override { return ++asked, wanted; }
        void close() noexcept override {}
    };
    const Context context(0, {.limit_bytes = 1024 * mib});
    const auto account = std::make_shared<Account>();
    context.state().account = account;
    const Stream stream(context);
    buffers(stream, 4, 32 * mib);
    for (int k = 0; k < 20; ++k) stream.synchronize();
    EXPECT_GE(account->asked, 1);
    EXPECT_EQ(context.statistics().early_reclaims, 0u);
    account->wanted = true;
    EXPECT_TRUE(comes(context, [](const MemoryStatistics& now) { return now.reserved_bytes == 0; }));
    EXPECT_EQ(context.statistics().early_reclaims, 1u);
}

TEST_F(GpuReclaim, a_heartbeat_asks_for_the_devices_memory_only_where_the_pool_could_give_some_back) {
    const Context context(0, {.limit_bytes = 512 * mib});
    lease::LeaseState lease;
    lease::LeasedContext account(lease, 0, context.state());
    const Stream stream(context);
    const auto asks = [&] {
        context.state().looked_outside = {};
        account.reclaim(false);
        return context.state().looked_outside != std::chrono::steady_clock::time_point();
    };
    const Buffer<char> held(stream, mib);
    stream.synchronize();
    EXPECT_FALSE(asks());
    buffers(stream, 2, 40 * mib);
    stream.synchronize();
    EXPECT_TRUE(asks());
}

TEST_F(GpuReclaim, the_caller_is_asked_early_once_memory_is_short) {
    for (const bool early : {true, false}) {
        const Context context(0, {.limit_bytes = 512 * mib, .early_reclaim = early});
        const Stream stream(context);
        Buffer<char> cache;
        int asked = 0;
        context.on_pressure([&] {
            ++asked;
            const std::uint64_t freed = cache.bytes();
            cache = {};
            return freed;
        });
        cache = Buffer<char>(stream, 200 * mib);
        stream.synchronize();
        EXPECT_EQ(context.relieve_pressure(), 0u);
        EXPECT_EQ(asked, 0) << "there is room";
        const Buffer<char> kept(stream, 200 * mib);
        stream.synchronize();
        EXPECT_EQ(context.relieve_pressure(), early ? 200 * mib : 0);
        EXPECT_EQ(asked, early ? 1 : 0);
        if (early) {
            EXPECT_TRUE(comes(context, [](const MemoryStatistics& now) { return now.reserved_bytes <= 256 * mib; }));
        }
        EXPECT_EQ(context.statistics().retries, 0u);
    }
}
