// The end of a context: what it waits for, and what outlives it.
// SPDX-License-Identifier: MIT
#include "glint/gpu/managed.hpp"

#include <optional>

#include "gpu/gpu_fixture.hpp"
#include "tests/expect_error.hpp"

using namespace glint::gpu;
using namespace glint::gpu::test;
using glint::test::expect_error;

namespace {

struct GpuClose : GpuTest {};

}  // namespace

TEST_F(GpuClose, what_outlives_it_is_dead_but_harmless) {
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
    expect_error<GpuError>([&] { buffer.read_on(*stream); }, {"GPU 0", "was released"});
    expect_error<GpuError>([&] { stream->synchronize(); }, {"was released"});
    expect_error<GpuError>([&] { event->synchronize(); }, {"was released"});
    EXPECT_EQ(buffer.context().statistics().live_bytes, 0u);
    EXPECT_EQ(buffer.context().statistics().pinned_bytes, 0u);
    EXPECT_EQ(pinned.data()[999], 7u) << "ordinary memory now";
}

TEST_F(GpuClose, a_callback_may_hold_buffers_and_streams) {
    const Context context(0, {.limit_bytes = 64 * mib});
    const Stream stream(context);
    auto cache = std::make_shared<Buffer<char>>(stream, mib);
    context.on_pressure([cache, stream] { return std::uint64_t(0); });
}

TEST_F(GpuClose, waits_for_other_gpus_at_work_on_its_memory) {
    if (gpu_count() < 2) GTEST_SKIP() << "there is one GPU only";
    std::optional<Context> first(std::in_place, 0, ContextOptions{.limit_bytes = 64 * mib});
    const Context second(1, {.limit_bytes = 64 * mib});
    const Stream here(*first), there(second);
    Buffer<unsigned> from(here, 1000), to(there, 1000);
    fill(here, from, 7);
    copy(there, to, from);
    first.reset();
    EXPECT_EQ(downloaded(there, to)[999], 0x07070707u);
}

TEST_F(GpuClose, events_and_streams_of_it_are_refused) {
    std::optional<Context> first(std::in_place, 0, ContextOptions{.limit_bytes = 64 * mib});
    const Context second(0, {.limit_bytes = 64 * mib});
    const Stream gone(*first), stream(second);
    const Event begin(*first, true);
    Event event(second, true);
    first.reset();
    expect_error<GpuError>([&] { event.record(gone); }, {"this stream", "was released"});
    event.record(stream);
    event.synchronize();
    expect_error<GpuError>([&] { event.milliseconds_since(begin); }, {"this Event", "was released"});
}
