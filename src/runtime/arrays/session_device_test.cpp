// Sessions on a chosen GPU, unified arrays, and settings of the whole process.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <numeric>

#include "glint/arrays/operations.hpp"
#include "glint/error.hpp"
#include "glint/gpu/managed.hpp"
#include "gpu/gpu_fixture.hpp"

namespace glint::arrays {
namespace {

using offload::Session;

offload::SessionOptions on(int device) {
    return {.choice = Backend::gpu, .gpu_memory_bytes = 64 << 20, .device = device, .gpu_timeout_s = 60};
}

TEST(OffloadSession, adds_up_its_statistics) {
    offload::Statistics all;
    all.operations.resize(2);
    all.operations[0].cpu = {.calls = 3, .timed_calls = 2, .seconds = 4};
    all.operations[1].gpu = {
        .calls = 1, .timed_calls = 1, .seconds = 2, .bytes_up = 8, .bytes_down = 4, .transfers = 2};
    all.copies = {.bytes_up = 16, .transfers = 1};
    const offload::OperationStatistics total = all.total();
    EXPECT_EQ(total.gpu_share(), 0.25);
    EXPECT_EQ(total.cpu.seconds, 4);
    EXPECT_EQ(total.gpu.bytes_up, 24u);
    EXPECT_EQ(total.gpu.transfers, 3u);
}

TEST(OffloadSession, takes_no_negative_device) { EXPECT_THROW(Session({.device = -2}), OptionError); }

class GpuSessionDevice : public gpu::test::GpuTest {};

TEST_F(GpuSessionDevice, is_the_one_asked_for) {
    const int count = int(gpu::inventory().devices.size());
    for (int device = 0; device < count; ++device) EXPECT_EQ(Session(on(device)).context().ordinal(), device);
    EXPECT_THROW(Session(on(count)).context(), gpu::NoGpu);
}

TEST_F(GpuSessionDevice, copies_between_all_of_them) {
    std::vector<float> values(10000), result(values.size());
    std::iota(values.begin(), values.end(), 1.0f);
    const Shape shape{std::int64_t(values.size())};
    Session first(on(0)), last(on(int(gpu::inventory().devices.size()) - 1));
    const auto there = to_device<float>(first, View<const float>(values.data(), shape));
    const auto other = empty_on_device<float>(last, shape, true);  // unified memory, too
    copy<float>(last, there, other);
    EXPECT_TRUE(gpu::is_managed(other.buffer));
    const float* const elements = gpu::host_elements(other.buffer);
    EXPECT_EQ(std::vector<float>(elements, elements + values.size()), values);
    EXPECT_THROW(gpu::host_elements(there.buffer), OptionError);
    const auto back = empty_on_device<float>(first, shape);
    copy<float>(first, other, back);
    to_host<float>(first, back, View<float>(result.data(), shape));
    EXPECT_EQ(result, values);
}

TEST_F(GpuSessionDevice, early_reclaim_can_be_switched) {
    constexpr std::uint64_t mib = 1 << 20;
    const gpu::Context context(0, {.limit_bytes = 512 * mib});
    const gpu::Stream stream(context);
    const gpu::Buffer<char> kept(stream, 400 * mib);
    const auto reclaims = [&] {
        { const gpu::Buffer<char> passing(stream, 96 * mib); }
        stream.synchronize();
        return context.statistics().early_reclaims;
    };
    gpu::set_early_reclaim(false);
    EXPECT_FALSE(gpu::early_reclaim());
    EXPECT_EQ(reclaims(), 0u);
    gpu::set_early_reclaim(true);
    EXPECT_EQ(reclaims(), 1u);
}

}  // namespace
}  // namespace glint::arrays
