// Contexts: retained and released, their limits, and their streams.
// SPDX-License-Identifier: MIT
#include "glint/gpu/context.hpp"

#include <algorithm>
#include <thread>

#include "glint/gpu/managed.hpp"
#include "gpu/context_state.hpp"
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

TEST_F(GpuContext, each_thread_has_its_own_stream) {
    const Context context(0, {.limit_bytes = 64 * mib});
    const Stream mine = Stream::of_thread(context);
    EXPECT_EQ(mine.shared_state(), Stream::of_thread(context).shared_state());
    std::thread([&] { EXPECT_NE(mine.shared_state(), Stream::of_thread(context).shared_state()); }).join();
}

TEST_F(GpuContext, snapshot_lists_what_buffers_hold) {
    const Context context(0, {.limit_bytes = 64 * mib});
    const Stream stream(context);
    Buffer<unsigned> buffer(stream, 1000);
    const Buffer<unsigned> view = buffer.view(10, 20), none(stream, 0);
    const auto guest = Buffer<unsigned>::adopt(stream, buffer.read_on(stream) + 400, 100, false);
    const Managed<char> shared(context, 500);
    std::vector<std::pair<MemoryKind, std::uint64_t>> found;
    for (const MemoryRecord& record : context.snapshot()) {
        EXPECT_FALSE(record.freed_later);
        found.emplace_back(record.kind, record.bytes);
    }
    EXPECT_EQ(found.size(), 3u) << "a view is no memory of its own, and nothing is none";
    for (const auto& expected : {std::pair(MemoryKind::pooled, 4000ul), std::pair(MemoryKind::borrowed, 400ul),
                                 std::pair(MemoryKind::managed, 500ul)})
        EXPECT_EQ(std::count(found.begin(), found.end(), expected), 1) << expected.second;
}

TEST_F(GpuContext, synchronize_waits_for_every_stream_even_those_that_went) {
    const Context context(0, {.limit_bytes = 64 * mib});
    const Stream one(context), two(context);
    Pinned<unsigned> back(context, 3000);
    const auto fill_and_bring = [&](const Stream& stream, unsigned char value, std::size_t first) {
        Buffer<unsigned> buffer(stream, 1000);
        fill(stream, buffer, value);
        download(stream, back.span().subspan(first, 1000), buffer);
    };
    fill_and_bring(one, 1, 0);
    fill_and_bring(two, 2, 1000);
    fill_and_bring(Stream(context), 3, 2000);
    context.synchronize();
    for (unsigned k = 0; k < 3; ++k) EXPECT_EQ(back.data()[1000 * k + 999], 0x01010101u * (k + 1));
    EXPECT_TRUE(one.idle());
}

TEST_F(GpuContext, synchronize_all_waits_for_every_context) {
    std::vector<Context> contexts;
    contexts.emplace_back(0, ContextOptions{.limit_bytes = 64 * mib});
    contexts.emplace_back(0, ContextOptions{.limit_bytes = 64 * mib});
    if (gpu_count() > 1) contexts.emplace_back(1, ContextOptions{.limit_bytes = 64 * mib});
    std::vector<Stream> streams;
    std::vector<Pinned<unsigned>> back;
    for (const Context& context : contexts) {
        const Stream& stream = streams.emplace_back(context);
        const Pinned<unsigned>& there = back.emplace_back(context, 1000);
        Buffer<unsigned> buffer(stream, 1000);
        fill(stream, buffer, 7);
        download(stream, there.span(), buffer);
    }
    synchronize_all();
    for (const auto& there : back) EXPECT_EQ(there.data()[999], 0x07070707u);
}

TEST_F(GpuContext, work_leaves_the_callers_current_context_alone) {
    const Context context(0, {.limit_bytes = 64 * mib});
    const Stream stream(context);
    Buffer<unsigned> buffer(stream, 5000000);
    upload(stream, buffer, ramp(buffer.size()));
    EXPECT_EQ(downloaded(stream, buffer).back(), 4999999u);
    EXPECT_EQ(current(), nullptr);
    if (gpu_count() < 2) return;
    const Context other(1, {.limit_bytes = 64 * mib});
    const detail::Current chosen(other.state());
    const cu::Context before = current();
    fill(stream, buffer, 0);
    stream.synchronize();
    EXPECT_EQ(current(), before);
}
