// Buffers: bytes there and back, the order of uses, parts, strangers, and copies between GPUs.
// SPDX-License-Identifier: MIT
#include "glint/gpu/buffer.hpp"

#include <dlfcn.h>

#include <numeric>

#include "glint/gpu/managed.hpp"
#include "gpu/gpu_fixture.hpp"
#include "gpu/stream_state.hpp"
#include "tests/expect_error.hpp"

using namespace glint::gpu;
using namespace glint::gpu::test;
using glint::test::expect_error;
namespace cu = glint::cu;

namespace {

struct GpuBuffer : GpuTest {
    void SetUp() override {
        GpuTest::SetUp();
        if (IsSkipped()) return;
        context = std::make_unique<Context>(0, ContextOptions{.limit_bytes = 512 * mib});
        stream = std::make_unique<Stream>(*context);
    }
    std::unique_ptr<Context> context;
    std::unique_ptr<Stream> stream;
};

/// Capture, which glint itself does not start: by the real driver's functions, or the simulated one's switch.
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
        if (simulate) return simulate(stream.state().stream, 1);
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

}  // namespace

TEST_F(GpuBuffer, brings_back_what_was_uploaded_whatever_its_size) {
    // Around the sizes where staging changes: nothing, one chunk, several, more than all slots.
    for (const std::size_t n : {std::size_t(0), std::size_t(1), std::size_t(131072), std::size_t(131073),
                                std::size_t(3000001), std::size_t(40000000)}) {
        Buffer<unsigned> buffer(*stream, n);
        const std::vector<unsigned> values = ramp(n, 2654435761u);
        upload(*stream, buffer, values);
        EXPECT_TRUE(downloaded(*stream, buffer) == values) << n;
    }
}

TEST_F(GpuBuffer, pageable_memory_is_free_again_when_an_upload_returns) {
    Buffer<unsigned> buffer(*stream, 5000000);
    std::vector<unsigned> values = ramp(buffer.size());
    upload(*stream, buffer, values);
    std::fill(values.begin(), values.end(), 0);
    EXPECT_TRUE(downloaded(*stream, buffer) == ramp(buffer.size()));
}

TEST_F(GpuBuffer, pinned_memory_is_copied_in_stream_order) {
    Pinned<unsigned> there(*context, 100000), back(*context, 100000);
    const std::vector<unsigned> values = ramp(there.size(), 3);
    std::copy(values.begin(), values.end(), there.data());
    Buffer<unsigned> buffer(*stream, there.size());
    const auto blocks = context->statistics().host_blocks;
    upload(*stream, buffer, there.span());
    download(*stream, back.span(), buffer);
    EXPECT_EQ(context->statistics().host_blocks, blocks);
    stream->synchronize();
    EXPECT_TRUE(std::equal(values.begin(), values.end(), back.data()));
    EXPECT_GE(context->statistics().pinned_bytes, 2 * 4 * there.size());
}

TEST_F(GpuBuffer, another_stream_waits_on_the_device_once_for_each_use) {
    const Stream other(*context), third(*context);
    Buffer<unsigned> buffer(*stream, 1000);
    const auto waits = [&] { return context->statistics().event_waits; };
    buffer.write_on(*stream);
    EXPECT_EQ(waits(), 0u);
    buffer.read_on(other);
    EXPECT_EQ(waits(), 1u) << "behind the write";
    buffer.read_on(other);
    EXPECT_EQ(waits(), 1u) << "it is behind it already";
    buffer.read_on(third);
    EXPECT_EQ(waits(), 2u) << "behind the write, beside the other read";
    buffer.write_on(*stream);
    EXPECT_EQ(waits(), 4u) << "behind both reads";
    buffer.write_on(other);
    EXPECT_EQ(waits(), 5u);
}

TEST_F(GpuBuffer, uses_on_many_streams_keep_their_order) {
    std::vector<Stream> streams;
    for (int k = 0; k < 4; ++k) streams.emplace_back(*context);
    Buffer<unsigned> a(*stream, 1 << 20), b(*stream, 1 << 20);
    for (unsigned round = 0; round < 12; ++round) {
        upload(streams[round % 4], a, ramp(a.size(), round + 1));
        copy(streams[(round + 1) % 4], b, a);
        EXPECT_TRUE(downloaded(streams[(round + 2) % 4], b) == ramp(a.size(), round + 1)) << round;
        fill(streams[(round + 3) % 4], a, 0xff);
    }
    EXPECT_EQ(downloaded(*stream, a).back(), 0xffffffffu);
}

TEST_F(GpuBuffer, is_freed_behind_every_stream_that_used_it) {
    const Stream other(*context);
    Pinned<unsigned> back(*context, 1 << 20);
    for (int round = 0; round < 8; ++round) {
        Buffer<unsigned> passing(*stream, 1 << 20);
        fill(*stream, passing, static_cast<unsigned char>(round));
        download(other, back.span(), passing);
        passing = {};
        Buffer<unsigned> next(*stream, 1 << 20);  // likely the same memory
        fill(*stream, next, 0xee);
        other.synchronize();
        EXPECT_EQ(back.data()[12345], 0x01010101u * unsigned(round));
    }
}

TEST_F(GpuBuffer, a_stream_may_go_before_its_buffers) {
    Buffer<unsigned> buffer;
    {
        const Stream passing(*context);
        buffer = Buffer<unsigned>(passing, 1000);
        upload(passing, buffer, ramp(1000));
    }
    EXPECT_EQ(downloaded(*stream, buffer), ramp(1000));
}

TEST_F(GpuBuffer, views_share_memory_and_stay_inside) {
    Buffer<unsigned> whole(*stream, 1000);
    fill(*stream, whole, 0);
    Buffer<unsigned> part = whole.view(200, 300);
    upload(*stream, part, ramp(300));
    whole = whole.view(0, 1000);
    EXPECT_EQ(downloaded(*stream, whole)[200 + 299], 299u);
    EXPECT_EQ(downloaded(*stream, whole)[500], 0u);
    EXPECT_THROW(whole.view(900, 101), glint::OptionError);
    EXPECT_THROW(upload(*stream, part, ramp(301)), glint::OptionError);
    Buffer<unsigned> overlapping = whole.view(250, 300);
    EXPECT_THROW(copy(*stream, overlapping, part), glint::OptionError);
}

TEST_F(GpuBuffer, adopts_memory_of_others) {
    Buffer<unsigned> owner(*stream, 1000);
    {
        Buffer<unsigned> guest = Buffer<unsigned>::adopt(*stream, owner.write_on(*stream), 1000, false);
        upload(*stream, guest, ramp(1000));
        stream->synchronize();
    }
    EXPECT_EQ(downloaded(*stream, owner), ramp(1000)) << "borrowed memory is not freed";
}

TEST_F(GpuBuffer, a_buffer_of_nothing_works) {
    Buffer<unsigned> none(*stream, 0);
    fill(*stream, none, 1);
    copy(*stream, none, none);
    EXPECT_TRUE(downloaded(*stream, none).empty());
    EXPECT_EQ(context->statistics().live_bytes, 0u);
}

TEST_F(GpuBuffer, capture_gets_what_it_allows_and_a_named_error_for_the_rest) {
    const Capture capture;
    if (!capture) GTEST_SKIP() << "this driver cannot capture";
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
    buffer = {};  // put off until the capture is over
    capture.end(*stream);
    EXPECT_EQ(context->statistics().live_bytes, 0u);
    stream->synchronize();  // puts the free into the stream
    stream->synchronize();
    context->trim();
    EXPECT_EQ(context->statistics().reserved_bytes, 0u);
}

TEST_F(GpuBuffer, managed_memory_is_for_both_sides) {
    Managed<unsigned> shared(*context, 1 << 20);
    std::iota(shared.begin(), shared.end(), 0u);
    shared.prefetch_to_device(*stream);
    Buffer<unsigned> copied(*stream, shared.size());
    Buffer<unsigned> seen = Buffer<unsigned>::adopt(*stream, shared.read_on(*stream), shared.size(), false);
    copy(*stream, copied, seen);
    fill(*stream, seen, 0);
    shared.write_on(*stream);
    const auto blocks = [&] { return context->statistics().host_blocks; };
    const auto before = blocks();
    EXPECT_EQ(std::accumulate(shared.begin(), shared.end(), 0u), 0u);
    EXPECT_EQ(blocks(), before + 1) << "the host waits once";
    for (std::size_t k = 0; k < shared.size(); ++k) shared[k] = 1;
    EXPECT_EQ(blocks(), before + 1) << "and not for each element";
    EXPECT_TRUE(downloaded(*stream, copied) == ramp(shared.size()));
    EXPECT_THROW(Managed<char>(*context, std::size_t(1) << 46), OutOfMemory);
}

TEST_F(GpuBuffer, copies_between_gpus_arrive_and_strangers_are_named) {
    if (gpu_count() < 2) GTEST_SKIP() << "there is one GPU only";
    const Context second(1, {.limit_bytes = 512 * mib});
    const Stream there(second);
    const std::size_t n = 6000000;  // several chunks, where it is staged
    Buffer<unsigned> here(*stream, n), far(there, n);
    upload(*stream, here, ramp(n, 5));
    copy(there, far, here);
    EXPECT_TRUE(downloaded(there, far) == ramp(n, 5));
    fill(there, far, 9);
    copy(there, here, far);
    EXPECT_EQ(downloaded(*stream, here).back(), 0x09090909u);
    try {
        here.read_on(there);
    } catch (const GpuError& error) {
        const std::string said = error.what();
        for (const char* part : {"GPU 0", "GPU 1", "cannot reach", "stream of GPU 0", "copy()"})
            EXPECT_NE(said.find(part), std::string::npos) << said;
    }
}
