// Memory under a limit: what is kept, what is returned early, and the fallbacks before an allocation fails.
// SPDX-License-Identifier: MIT
#include "glint/gpu/buffer.hpp"

#include <functional>
#include <optional>

#include "glint/gpu/advice.hpp"
#include "glint/gpu/device.hpp"
#include "glint/gpu/lease.hpp"
#include "gpu/gpu_fixture.hpp"
#include "tests/expect_error.hpp"

using namespace glint::gpu;
using namespace glint::gpu::test;
using glint::test::expect_error;

namespace {

struct GpuAllocationFallback : GpuTest {};

/// While this object lives, the process's callback calls `collect`. The callback itself cannot be removed.
struct Collecting {
    explicit Collecting(std::function<void()> collect) {
        static const bool registered = (on_pressure([] { return now ? (now(), true) : false; }), true);
        now = registered ? std::move(collect) : nullptr;
    }
    ~Collecting() { now = nullptr; }
    static inline std::function<void()> now;
};

}  // namespace

TEST_F(GpuAllocationFallback, a_buffer_beyond_the_limit_is_refused_with_the_figures) {
    const Context context(0, {.limit_bytes = 64 * mib});
    const Stream stream(context);
    const Buffer<char> first(stream, 40 * mib);
    try {
        Buffer<char>(stream, 30 * mib);
        ADD_FAILURE() << "nothing was thrown";
    } catch (const OutOfMemory& error) {
        const std::string said = error.what();
        for (const char* part : {"30.0 MiB asked for", "40.0 MiB in use", "limit of 64.0 MiB", "free on the device"})
            EXPECT_NE(said.find(part), std::string::npos) << said;
        EXPECT_EQ(error.asked_bytes, 30 * mib);
    }
    EXPECT_GT(context.statistics().retries, 0u);
    EXPECT_NO_THROW(Buffer<char>(stream, 20 * mib)) << "the context stays usable";
    EXPECT_THROW(Buffer<double>(stream, SIZE_MAX / 2), OutOfMemory);
}

TEST_F(GpuAllocationFallback, the_caller_is_asked_before_an_allocation_fails) {
    std::vector<std::string> log;
    const Context context(0, {.limit_bytes = 64 * mib, .early_reclaim = false, .log = [&](const std::string& line) {
                                  log.push_back(line);
                              }});
    const Stream stream(context);
    Buffer<char> cache(stream, 40 * mib);
    context.on_pressure([&] {
        const std::uint64_t freed = cache.size();
        cache = {};
        return freed;
    });
    const Buffer<char> wanted(stream, 50 * mib);
    EXPECT_FALSE(bool(cache));
    EXPECT_EQ(context.statistics().live_bytes, 50 * mib);
    EXPECT_EQ(context.statistics().retries, 4u);
    ASSERT_EQ(log.size(), 1u) << "one line per event";
    EXPECT_NE(log[0].find("out of memory for 50.0 MiB: the program's callbacks freed 40.0 MiB in "), std::string::npos)
        << log[0];
    EXPECT_NE(log[0].find(" ms; the allocation succeeded"), std::string::npos) << log[0];
    EXPECT_EQ(log[0].find("pool"), std::string::npos) << "a step that freed nothing is not named: " << log[0];
}

// Memory freed in stream order stays in use until the device executes the free, so the wait helps.
TEST_F(GpuAllocationFallback, the_step_that_helped_is_credited) {
    std::vector<std::string> log;
    const Context context(0, {.limit_bytes = 64 * mib, .early_reclaim = false, .log = [&](const std::string& line) {
                                  log.push_back(line);
                              }});
    const Stream busy(context), stream(context);
    {
        Buffer<char> passing(busy, 40 * mib);
        fill(busy, passing, 1);
    }
    const Buffer<char> wanted(stream, 50 * mib);
    if (log.empty()) GTEST_SKIP() << "the device executed the free before the allocation, which needed no help";
    ASSERT_EQ(log.size(), 1u);
    EXPECT_NE(log[0].find("waiting for all streams freed 40.0 MiB in "), std::string::npos) << log[0];
    EXPECT_EQ(log[0].find("trimming"), std::string::npos) << log[0];
}

TEST_F(GpuAllocationFallback, no_line_reports_that_nothing_was_freed) {
    std::vector<std::string> log;
    const Context context(0, {.limit_bytes = 64 * mib, .log = [&](const std::string& line) { log.push_back(line); }});
    const Stream stream(context);
    const Buffer<char> kept(stream, 40 * mib);
    EXPECT_THROW(Buffer<char>(stream, 40 * mib), OutOfMemory);
    EXPECT_TRUE(log.empty()) << log.front();
}

TEST_F(GpuAllocationFallback, the_log_of_the_process_needs_no_callback_of_the_context) {
    std::vector<std::string> log;
    set_log([&](const std::string& line) { log.push_back(line); });
    const Context context(0, {.limit_bytes = 64 * mib, .early_reclaim = false});
    const Stream stream(context);
    Buffer<char> cache(stream, 40 * mib);
    context.on_pressure([&] {
        cache = {};
        return std::uint64_t(40 * mib);
    });
    const Buffer<char> wanted(stream, 50 * mib);
    set_log({});
    ASSERT_EQ(log.size(), 1u);
    EXPECT_NE(log[0].find("freed 40.0 MiB"), std::string::npos) << log[0];
}

TEST_F(GpuAllocationFallback, advice_and_explanation_agree_on_whether_waiting_helps) {
    const Context context(0, {.limit_bytes = 64 * mib});
    const Stream stream(context);
    const Buffer<char> kept(stream, 40 * mib);
    try {
        Buffer<char>(stream, 40 * mib);
        ADD_FAILURE() << "nothing was thrown";
    } catch (const OutOfMemory& error) {
        EXPECT_TRUE(error.beyond_limit);
        EXPECT_EQ(std::string(error.what()).find("wait for other processes"), std::string::npos) << error.what();
        EXPECT_NE(explain_error(error).suggestion.find("waiting for others does not help"), std::string::npos);
    }
}

TEST_F(GpuAllocationFallback, the_process_is_asked_before_an_allocation_fails) {
    int calls = 0;
    const Context context(0, {.limit_bytes = 64 * mib});
    const Stream stream(context);
    std::optional<Buffer<char>> garbage(std::in_place, stream, 40 * mib);
    const Collecting collecting([&] {
        ++calls;
        garbage.reset();
        EXPECT_THROW(Buffer<char>(stream, 60 * mib), OutOfMemory) << "not asked again within itself";
    });
    const Buffer<char> first(stream, 20 * mib);
    EXPECT_EQ(calls, 0);
    const Buffer<char> second(stream, 40 * mib);
    EXPECT_EQ(calls, 1);
}

TEST_F(GpuAllocationFallback, the_process_is_asked_before_a_lease_is_refused) {
    const LeaseRequest half{.bytes = inventory().devices.at(0).total_bytes / 2, .timeout_s = 0};
    LeaseRequest all = half, polled = half;
    all.gpus = int(inventory().devices.size()), all.timeout_s = 60, polled.relieve_pressure = false;
    std::optional<Lease> garbage(acquire(all));
    int calls = 0;
    const Collecting collecting([&] {
        ++calls;
        garbage.reset();
    });
    EXPECT_THROW(acquire(polled), LeaseTimeout);
    EXPECT_EQ(calls, 0);
    const Lease lease = acquire(half);
    EXPECT_EQ(calls, 1);
}

TEST_F(GpuAllocationFallback, freed_memory_is_kept_for_reuse_until_a_trim) {
    const Context context(0, {.limit_bytes = 256 * mib, .early_reclaim = false});
    const Stream stream(context);
    { const Buffer<char> passing(stream, 64 * mib); }
    stream.synchronize();
    EXPECT_EQ(context.statistics().live_bytes, 0u);
    EXPECT_EQ(context.statistics().peak_bytes, 64 * mib);
    EXPECT_GE(context.statistics().reserved_bytes, 64 * mib);
    context.trim();
    EXPECT_EQ(context.statistics().reserved_bytes, 0u);
    EXPECT_EQ(context.statistics().trims, 1u);
}

TEST_F(GpuAllocationFallback, under_pressure_unused_memory_goes_back_early) {
    for (const bool early : {true, false}) {
        const Context context(0, {.limit_bytes = 512 * mib, .early_reclaim = early});
        const Stream stream(context);
        const Buffer<char> kept(stream, 400 * mib);
        { const Buffer<char> passing(stream, 96 * mib); }
        stream.synchronize();
        EXPECT_EQ(context.statistics().early_reclaims, early ? 1u : 0u);
        if (early) {
            EXPECT_LT(context.statistics().reserved_bytes, 496 * mib);
        }
    }
}

TEST_F(GpuAllocationFallback, the_environment_switches_early_reclaim_off) {
    setenv("GLINT_GPU_EARLY_RECLAIM", "0", 1);
    const Context context(0, {.limit_bytes = 512 * mib});
    unsetenv("GLINT_GPU_EARLY_RECLAIM");
    const Stream stream(context);
    const Buffer<char> kept(stream, 400 * mib);
    { const Buffer<char> passing(stream, 96 * mib); }
    stream.synchronize();
    EXPECT_EQ(context.statistics().early_reclaims, 0u);
}

TEST_F(GpuAllocationFallback, a_failed_request_leaves_the_device_to_others) {
    if (!set_stranger()) GTEST_SKIP() << "a real GPU is not filled on purpose";
    const Context context(0);
    const Stream stream(context);
    set_stranger()(0, 4096 * mib, 10);
    const auto free_bytes = [] { return inventory().devices.at(0).free_bytes; };
    const auto before = free_bytes();
    expect_error<OutOfMemory>([&] { Buffer<char>(stream, before + mib); }, {"3.5 GiB free on the device"});
    EXPECT_EQ(context.statistics().reserved_bytes, 0u);
    EXPECT_EQ(free_bytes(), before);
    set_stranger()(0, 0, 0);
}

TEST_F(GpuAllocationFallback, waits_for_streams_that_went_with_work_in_them) {
    const Context context(0, {.limit_bytes = 64 * mib});
    const Stream stream(context);
    {
        const Stream passing(context);
        Buffer<char> buffer(passing, 60 * mib);
        fill(passing, buffer, 1);
    }
    EXPECT_NO_THROW(Buffer<char>(stream, 60 * mib));
}

TEST_F(GpuAllocationFallback, a_callback_that_finds_no_room_is_not_asked_again) {
    const Context context(0, {.limit_bytes = 64 * mib});
    const Stream stream(context);
    int asked = 0;
    context.on_pressure([&] {
        ++asked;
        EXPECT_THROW(Buffer<char>(stream, 65 * mib), OutOfMemory);
        EXPECT_THROW(Buffer<char>(stream, 40 * mib), OutOfMemory);
        return std::uint64_t(0);
    });
    const Buffer<char> kept(stream, 40 * mib);
    EXPECT_THROW(Buffer<char>(stream, 40 * mib), OutOfMemory);
    EXPECT_EQ(asked, 1);
}

TEST_F(GpuAllocationFallback, downloads_take_the_pressure_off) {
    const Context context(0, {.limit_bytes = 256 * mib});
    const Stream stream(context);
    std::vector<char> back(16 * mib);
    for (int round = 0; round < 40; ++round) {
        Buffer<char> passing(stream, back.size());
        fill(stream, passing, 1);
        download(stream, std::span<char>(back), passing);
    }
    EXPECT_EQ(context.statistics().early_reclaims, 0u) << "a sixteenth of the limit is in use";
}
