// Arrays on a GPU and the contexts around them.
// SPDX-License-Identifier: MIT
#include "arrays/gpu_arrays_fixture.hpp"

namespace glint::arrays::test {
namespace {

struct GpuArrays : GpuArraysTest {};

}  // namespace

TEST_F(GpuArrays, leave_no_context_and_work_again_in_the_next) {
    close();
    const bool before = gpu::context_is_there(0);
    for (int round = 0; round < 2; ++round) {
        open(64 * mib);
        EXPECT_EQ(all_operations<gpu::OutOfMemory>(), 7);
        close();
        EXPECT_EQ(gpu::context_is_there(0), before) << "the libraries did not touch the primary context";
    }
}

TEST_F(GpuArrays, of_another_context_of_the_gpu_are_used_without_a_copy) {
    const gpu::Context other(0, {.limit_bytes = 64 * mib});
    const gpu::Stream there(other);
    const auto x = random_values<float>(4000);
    const DeviceArray<float> in{gpu::Buffer<float>(there, x.size()), {4000}};
    DeviceArray<float> out{gpu::Buffer<float>(there, x.size()), {4000}};
    auto buffer = in.buffer;
    gpu::upload(there, buffer, std::span<const float>(x));
    const std::vector<Operand<const float>> inputs{in};
    on_gpu->map<float>(compile(2 * input(0)), inputs, out);
    std::vector<float> y(x.size());
    gpu::download(there, std::span<float>(y), out.buffer);
    for (std::size_t k = 0; k < x.size(); ++k) ASSERT_EQ(y[k], 2 * x[k]) << k;
}

TEST_F(GpuArrays, pinned_memory_may_change_after_an_operation_has_returned) {
    gpu::Pinned<float> pinned(*context, 3000);
    std::fill_n(pinned.data(), pinned.size(), 1.0f);
    const auto out = empty<float>({3000});
    const std::vector<Operand<const float>> inputs{View<const float>(pinned.data(), {3000})};
    on_gpu->map<float>(compile(input(0) + 1), inputs, out);
    std::fill_n(pinned.data(), pinned.size(), 9.0f);
    EXPECT_EQ(values_of(out), std::vector<float>(3000, 2.0f));
    on_gpu->map<float>(compile(input(0) + 1), inputs, View<float>(pinned.data(), {3000}));
    EXPECT_EQ(pinned.data()[2999], 10.0f);
}

}  // namespace glint::arrays::test
