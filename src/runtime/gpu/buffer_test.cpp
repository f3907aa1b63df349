// Buffers: uploads and downloads, the order of uses, views, and memory of other libraries.
// SPDX-License-Identifier: MIT
#include "glint/gpu/buffer.hpp"

#include "gpu/context_state.hpp"
#include "gpu/gpu_fixture.hpp"
#include "tests/expect_error.hpp"

using namespace glint::gpu;
using namespace glint::gpu::test;
using glint::test::expect_error;
namespace cu = glint::cu;

namespace {

struct GpuBuffer : OneGpuTest {};

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

TEST_F(GpuBuffer, frees_what_it_adopts_to_own) {
    cu::DevicePtr address = 0;
    {
        const detail::Current current(context->state());
        check(driver().cuMemAllocManaged(&address, 4000, cu::attach_global), "cuMemAllocManaged");
    }
    auto ours = Buffer<unsigned>::adopt(*stream, address, 1000, true);
    fill(*stream, ours, 1);
    EXPECT_EQ(context->snapshot().at(0).kind, MemoryKind::adopted);
    EXPECT_EQ(context->statistics().live_bytes, 0u) << "it is neither in the pool nor counted";
    ours = {};
    EXPECT_TRUE(context->snapshot().empty());
    unsigned type = 0;
    int memory_type = 2;
    void* values[] = {&type};
    const cu::Result known = driver().cuPointerGetAttributes(1, &memory_type, values, address);
    EXPECT_TRUE(known != cu::success || type == 0) << "the driver knows it no more";
}

TEST_F(GpuBuffer, a_buffer_of_nothing_works) {
    Buffer<unsigned> none(*stream, 0);
    fill(*stream, none, 1);
    copy(*stream, none, none);
    EXPECT_TRUE(downloaded(*stream, none).empty());
    EXPECT_EQ(context->statistics().live_bytes, 0u);
}

TEST_F(GpuBuffer, an_empty_one_says_so) {
    Buffer<unsigned> none;
    EXPECT_FALSE(bool(none));
    expect_error<glint::OptionError>([&] { none.read_on(*stream); }, {"empty"});
    expect_error<glint::OptionError>([&] { none.write_on(*stream); }, {"empty"});
    expect_error<glint::OptionError>([&] { (void)none.context(); }, {"empty"});
    expect_error<glint::OptionError>([&] { fill(*stream, none, 1); }, {"empty"});
}

TEST_F(GpuBuffer, adopts_no_more_than_any_memory_holds) {
    EXPECT_THROW(Buffer<double>::adopt(*stream, 0x1000, (std::size_t(1) << 61) + 1, false), OutOfMemory);
}

TEST_F(GpuBuffer, events_order_streams) {
    const Stream other(*context);
    Event uploaded(*context);
    EXPECT_TRUE(uploaded.done()) << "it was never recorded";
    Pinned<unsigned> back(*context, 1000);
    Buffer<unsigned> buffer(*stream, 1000);
    upload(*stream, buffer, ramp(1000));
    auto same = Buffer<unsigned>::adopt(other, buffer.read_on(*stream), 1000, false);  // ignores other streams' uses
    uploaded.record(*stream);
    uploaded.wait_on(other);
    download(other, back.span(), same);
    other.synchronize();
    EXPECT_TRUE(uploaded.done());
    EXPECT_EQ(back.data()[999], 999u);
}

// Reading an element from the host does not compile.
template <class B>
concept Indexed = requires(B& buffer) {
    buffer[0];
};
template <class B>
concept Dereferenced = requires(B& buffer) {
    *buffer.begin();
};
static_assert(!Indexed<Buffer<float>> && !Dereferenced<Buffer<float>>);
