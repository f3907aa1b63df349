// Streams that another library captures into a graph: which calls work, which are deferred, and which are errors.
// SPDX-License-Identifier: MIT
#include "glint/gpu/managed.hpp"

#include <functional>
#include <optional>

#include "gpu/gpu_fixture.hpp"
#include "gpu/stream_state.hpp"
#include "tests/expect_error.hpp"

using namespace glint::gpu;
using namespace glint::gpu::test;
using glint::test::expect_error;
namespace cu = glint::cu;

namespace {

/// Starts a capture, which glint itself never does: by functions of the real driver, or by a switch of the simulated
/// driver.
struct Capture {
    void* library = dlopen("libcuda.so.1", RTLD_NOW);
    void find(const char* name, auto& function) const {
        function = reinterpret_cast<std::decay_t<decltype(function)>>(library ? dlsym(library, name) : nullptr);
    }
    cu::Result (*begin_real)(cu::Stream, int) = nullptr;
    cu::Result (*end_real)(cu::Stream, void**) = nullptr;
    void (*simulate)(cu::Stream, int) = nullptr;

    Capture() {
        find("cuStreamBeginCapture_v2", begin_real);
        find("cuStreamEndCapture", end_real);
        find("simgpu_set_capturing", simulate);
    }
    explicit operator bool() const { return (begin_real && end_real) || simulate; }
    void begin(const Stream& stream) const {
        static int number = 0;
        if (simulate) return simulate(stream.state().stream, ++number);
        const detail::Current current(stream.context().state());
        check(begin_real(stream.state().stream, 0), "cuStreamBeginCapture");
    }
    void end(const Stream& stream) const {
        void* graph = nullptr;
        if (simulate) return simulate(stream.state().stream, 0);
        const detail::Current current(stream.context().state());
        check(end_real(stream.state().stream, &graph), "cuStreamEndCapture");
    }
};

struct GpuCapture : OneGpuTest {
    void SetUp() override {
        OneGpuTest::SetUp();
        if (!IsSkipped() && !capture) GTEST_SKIP() << "this driver cannot capture";
    }
    const Capture capture;
};

}  // namespace

TEST_F(GpuCapture, gets_what_it_allows_and_a_named_error_for_the_rest) {
    const Stream other(*context);
    Buffer<unsigned> buffer(*stream, 1000);
    buffer.write_on(other);
    capture.begin(*stream);
    expect_error<GpuError>([&] { buffer.write_on(*stream); }, {"another stream", "synchronize()"});
    expect_error<GpuError>([&] { Buffer<unsigned>(*stream, 10); }, {"allocate before"});
    capture.end(*stream);
    other.synchronize();
    capture.begin(*stream);
    EXPECT_NO_THROW(fill(*stream, buffer, 7));
    buffer = {};
    ASSERT_EQ(context->snapshot().size(), 1u) << "put off until the capture is over";
    EXPECT_TRUE(context->snapshot()[0].freed_later);
    capture.end(*stream);
    EXPECT_EQ(context->statistics().live_bytes, 0u);
    stream->synchronize();  // puts the free into the stream
    stream->synchronize();
    context->trim();
    EXPECT_EQ(context->statistics().reserved_bytes, 0u);
}

TEST_F(GpuCapture, a_buffer_is_used_where_it_is_allocated) {
    const Stream other(*context);
    Buffer<unsigned> buffer(other, 1000);
    capture.begin(*stream);
    expect_error<GpuError>([&] { buffer.write_on(*stream); }, {"another stream", "synchronize()"});
    capture.end(*stream);
    other.synchronize();
    capture.begin(*stream);
    EXPECT_NO_THROW(buffer.write_on(*stream));
    capture.end(*stream);
}

TEST_F(GpuCapture, of_two_streams_into_two_graphs_shares_no_work) {
    const Stream other(*context);
    Buffer<unsigned> buffer(*stream, 1000), settled(other, 1000);
    Event inside(*context), outside(*context), never(*context);
    outside.record(*stream);
    context->synchronize();
    capture.begin(*stream);
    capture.begin(other);
    fill(*stream, buffer, 7);
    inside.record(*stream);
    const auto first = stream->state().capture(), second = other.state().capture();
    EXPECT_NE(first, second);
    expect_error<GpuError>([&] { buffer.write_on(other); }, {"GPU 0", "in another capture", "into one graph"});
    expect_error<GpuError>([&] { buffer.read_on(other); }, {"in another capture", "synchronize()"});
    expect_error<GpuError>([&] { inside.wait_on(other); }, {"GPU 0", "in another capture", "record() it in this one"});
    expect_error<GpuError>([&] { outside.wait_on(other); }, {"outside that capture", "before the capture begins"});
    EXPECT_NO_THROW(never.wait_on(other));
    EXPECT_NO_THROW(settled.write_on(*stream)) << "the host has waited for what was before";
    EXPECT_EQ(stream->state().capture(), first) << "neither is spoilt";
    EXPECT_EQ(other.state().capture(), second);
    capture.end(*stream);
    capture.end(other);
}

TEST_F(GpuCapture, of_two_streams_into_one_graph_orders_what_they_share) {
    const Stream other(*context);
    Buffer<unsigned> buffer(*stream, 1000);
    Event fork(*context), join(*context);
    context->synchronize();
    capture.begin(*stream);
    fill(*stream, buffer, 7);
    fork.record(*stream);
    fork.wait_on(other);
    EXPECT_EQ(stream->state().capture(), other.state().capture());
    EXPECT_NO_THROW(fill(other, buffer, 8));
    join.record(other);
    join.wait_on(*stream);
    capture.end(*stream);
    EXPECT_EQ(other.state().capture(), 0u);
    EXPECT_NO_THROW(other.synchronize());
}

TEST_F(GpuCapture, puts_off_the_end_of_managed_memory) {
    {
        Managed<char> shared(*context, mib);
        capture.begin(*stream);
        shared.write_on(*stream);
    }
    ASSERT_EQ(context->snapshot().size(), 1u) << "the host may not wait now";
    EXPECT_TRUE(context->snapshot()[0].freed_later);
    EXPECT_EQ(context->statistics().live_bytes, 0u);
    capture.end(*stream);
    stream->synchronize();
    EXPECT_TRUE(context->snapshot().empty());
}

TEST_F(GpuCapture, of_one_stream_puts_off_the_end_of_managed_memory_of_another) {
    const Stream other(*context);
    {
        Managed<char> shared(*context, mib);
        shared.write_on(other);
        capture.begin(*stream);
    }
    EXPECT_EQ(context->snapshot().size(), 1u);
    capture.end(*stream);
    stream->synchronize();
    EXPECT_TRUE(context->snapshot().empty());
}

TEST_F(GpuCapture, is_not_spoiled_by_waits) {
    const Stream other(*context);
    Event before(*context), inside(*context);
    before.record(*stream);
    capture.begin(*stream);
    inside.record(*stream);
    for (const std::function<void()>& wait : std::initializer_list<std::function<void()>>{
             [&] { stream->synchronize(); }, [&] { (void)stream->idle(); }, [&] { context->synchronize(); },
             [&] { synchronize_all(); }, [&] { inside.synchronize(); }, [&] { (void)inside.done(); },
             [&] { Managed<char>(*context, 100); }})
        expect_error<GpuError>(wait, {"GPU 0", "captured into a graph"});
    EXPECT_NO_THROW(before.synchronize());
    EXPECT_NO_THROW(other.synchronize());
    capture.end(*stream);
    EXPECT_NO_THROW(context->synchronize());
    expect_error<GpuError>([&] { inside.synchronize(); }, {"record() it again"});
    inside.record(*stream);
    inside.synchronize();
    EXPECT_TRUE(inside.done());
}

TEST_F(GpuCapture, can_be_begun_by_the_streams_handle) {
    EXPECT_EQ(stream->native(), stream->state().stream);
    std::optional<Stream> late(*stream);
    stream.reset();
    context.reset();
    expect_error<GpuError>([&] { (void)late->native(); }, {"was released"});
}
