// Contexts, limits, the ladder before an allocation fails, and what outlives a context.
// SPDX-License-Identifier: MIT
#include "glint/gpu/context.hpp"

#include <thread>

#include "gpu/gpu_fixture.hpp"
#include "tests/expect_error.hpp"

using namespace glint::gpu;
using namespace glint::gpu::test;
using glint::test::expect_error;
namespace cu = glint::cu;

namespace {

struct GpuContext : GpuTest {
    static bool active() {
        unsigned flags = 0;
        int is = 0;
        check(driver().cuDevicePrimaryCtxGetState(0, &flags, &is), "cuDevicePrimaryCtxGetState");
        return is != 0;
    }
    static cu::Context current() {
        cu::Context context = nullptr;
        check(driver().cuCtxGetCurrent(&context), "cuCtxGetCurrent");
        return context;
    }
};

}  // namespace

TEST_F(GpuContext, is_released_with_its_last_copy_and_leaves_the_current_one_alone) {
    {
        const Context first(0, {.limit_bytes = 64 * mib});
        const Context second = first;
        EXPECT_TRUE(active());
        EXPECT_EQ(current(), nullptr);
        EXPECT_GT(second.multiprocessors(), 0);
        EXPECT_EQ(second.statistics().limit_bytes, 64 * mib);
    }
    EXPECT_FALSE(active());
    EXPECT_EQ(current(), nullptr);
}

TEST_F(GpuContext, a_number_that_is_none_is_named) {
    expect_error<NoGpu>([] { Context context(200); }, {"GPU 200", "counted from 0"});
    expect_error<NoGpu>([] { Context context(-1); }, {"GPU -1"});
}

TEST_F(GpuContext, takes_its_limit_from_the_environment) {
    setenv("GLINT_GPU_MEMORY_LIMIT", "96MiB", 1);
    EXPECT_EQ(Context(0).statistics().limit_bytes, 96 * mib);
    EXPECT_EQ(Context(0, {.limit_bytes = 64 * mib}).statistics().limit_bytes, 64 * mib) << "the smaller one";
    EXPECT_EQ(Context(0, {.limit_bytes = 128 * mib}).statistics().limit_bytes, 96 * mib) << "the smaller one";
    setenv("GLINT_GPU_MEMORY_LIMIT", "much", 1);
    expect_error<glint::OptionError>([] { Context context(0); }, {"GLINT_GPU_MEMORY_LIMIT=much"});
    unsetenv("GLINT_GPU_MEMORY_LIMIT");
    EXPECT_FALSE(active());
}

TEST_F(GpuContext, what_outlives_it_is_dead_but_harmless) {
    Buffer<unsigned> buffer;
    Pinned<unsigned> pinned;
    std::shared_ptr<Stream> stream;
    std::shared_ptr<Event> event;
    {
        const Context context(0, {.limit_bytes = 64 * mib});
        stream = std::make_shared<Stream>(context);
        event = std::make_shared<Event>(context);
        buffer = Buffer<unsigned>(*stream, 1000);
        pinned = Pinned<unsigned>(context, 1000);
        pinned.data()[999] = 7;
        upload(*stream, buffer, ramp(1000));
    }
    EXPECT_FALSE(active());
    expect_error<GpuError>([&] { buffer.read_on(*stream); }, {"GPU 0", "was released"});
    expect_error<GpuError>([&] { stream->synchronize(); }, {"was released"});
    expect_error<GpuError>([&] { event->synchronize(); }, {"was released"});
    EXPECT_EQ(pinned.data()[999], 7u) << "ordinary memory now";
}

TEST_F(GpuContext, a_buffer_beyond_the_limit_is_refused_with_the_figures) {
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

TEST_F(GpuContext, the_caller_is_asked_before_an_allocation_fails) {
    std::vector<std::string> log;
    const Context context(0, {.limit_bytes = 64 * mib, .log = [&](const std::string& line) { log.push_back(line); }});
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
    EXPECT_GE(log.size(), 4u);
}

TEST_F(GpuContext, freed_memory_is_kept_for_reuse_until_a_trim) {
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

TEST_F(GpuContext, under_pressure_unused_memory_goes_back_early) {
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

TEST_F(GpuContext, each_thread_has_its_own_stream) {
    const Context context(0, {.limit_bytes = 64 * mib});
    const Stream mine = Stream::of_thread(context);
    EXPECT_EQ(mine.shared_state(), Stream::of_thread(context).shared_state());
    std::thread([&] { EXPECT_NE(mine.shared_state(), Stream::of_thread(context).shared_state()); }).join();
}

TEST_F(GpuContext, code_that_is_none_is_refused) {
    const Context context(0, {.limit_bytes = 64 * mib});
    std::vector<unsigned char> junk(256, 0x5a);
    junk.back() = 0;  // a driver that takes it for text shall find the end
    EXPECT_THROW(Module(context, junk), GpuError);
    EXPECT_THROW(Module(context, {}), GpuError);
}
