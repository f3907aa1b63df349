// Managed memory: the host and the GPU use it, and it counts against the limit.
// SPDX-License-Identifier: MIT
#include "glint/gpu/managed.hpp"

#include <numeric>

#include "gpu/gpu_fixture.hpp"
#include "tests/expect_error.hpp"

using namespace glint::gpu;
using namespace glint::gpu::test;
using glint::test::expect_error;

namespace {

struct GpuManaged : OneGpuTest {};

}  // namespace

TEST_F(GpuManaged, is_for_both_sides) {
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

TEST_F(GpuManaged, is_the_hosts_after_all_that_read_it) {
    Managed<unsigned> shared(*context, 1000);
    Buffer<unsigned> same = shared.buffer();
    upload(*stream, same, ramp(1000));
    std::vector<Stream> others;
    std::vector<Buffer<unsigned>> copies;
    for (int k = 0; k < 3; ++k) {
        others.emplace_back(*context);
        copies.emplace_back(others[k], 1000);
        copy(others[k], copies[k], same);
    }
    std::fill(shared.begin(), shared.end(), 0u);
    for (int k = 0; k < 3; ++k) EXPECT_EQ(downloaded(others[k], copies[k]), ramp(1000)) << k;
}

// Kernels that do not use the memory count too, if the device has no concurrent managed access, as the simulated
// device.
TEST_F(GpuManaged, is_the_hosts_after_work_elsewhere) {
    if (!set_stranger()) GTEST_SKIP() << "only the simulated driver loads this image";
    static constexpr unsigned char image[] = "SIMGPU IMAGE 1\n";
    const Context second(0, {.limit_bytes = 64 * mib, .separate = true});
    Managed<unsigned> shared(*context, 1000);
    for (const Context& where : {*context, second}) {
        const Kernel axpy = Module(where, image).kernel("axpy");
        const Stream there(where);
        Buffer<float> x(there, 1), y(there, 1);
        fill(there, x, 0), fill(there, y, 0);
        std::uint64_t x_address = x.read_on(there), y_address = y.write_on(there);
        float a = 3;
        unsigned n = 1;
        void* arguments[] = {&y_address, &x_address, &a, &n};
        for (int k = 0; k < 2; ++k) {
            launch(there, axpy, 1, 1, 0, arguments);
            shared[k] = 1;
            EXPECT_EQ(shared[k], 1u);
        }
    }
}

TEST_F(GpuManaged, and_the_pool_keep_to_one_limit) {
    { Buffer<char> passing(*stream, 512 * mib); }
    stream->synchronize();
    const Managed<char> shared(*context, 384 * mib);
    EXPECT_LE(context->statistics().reserved_bytes, 128 * mib) << "what the pool had kept";
    { Buffer<char> passing(*stream, 128 * mib); }
    const Stream other(*context);
    const Buffer<char> next(other, 128 * mib);  // does not fit beside the buffer that is not freed yet
    EXPECT_LE(context->statistics().reserved_bytes, 128 * mib);
}

TEST_F(GpuManaged, asks_the_caller_before_it_fails) {
    Buffer<char> cache(*stream, 400 * mib);
    context->on_pressure([&] {
        const std::uint64_t freed = cache.size();
        cache = {};
        return freed;
    });
    EXPECT_NO_THROW(Managed<char>(*context, 300 * mib));
    EXPECT_FALSE(bool(cache));
    EXPECT_EQ(context->statistics().live_bytes, 0u);
}

TEST_F(GpuManaged, is_a_buffer_too) {
    Managed<unsigned> shared(*context, 1000);
    Buffer<unsigned> same = shared.buffer(), copied(*stream, 1000);
    upload(*stream, same, ramp(1000));
    copy(*stream, copied, same);
    Buffer<unsigned> half = same.view(500, 500);
    fill(*stream, half, 0);
    EXPECT_EQ(shared[499], 499u) << "the host waits for what the buffer was used for";
    EXPECT_EQ(shared[500], 0u);
    EXPECT_EQ(downloaded(*stream, copied), ramp(1000));
    shared.prefetch_to_host(*stream);
    EXPECT_EQ(shared[499], 499u);
}

TEST_F(GpuManaged, is_for_every_gpu) {
    if (gpu_count() < 2) GTEST_SKIP() << "there is one GPU only";
    const Context second(1, {.limit_bytes = 512 * mib});
    const Stream there(second);
    Managed<unsigned> shared(*context, 1000);
    std::iota(shared.begin(), shared.end(), 0u);
    Buffer<unsigned> same = shared.buffer(), far(there, 1000);
    copy(there, far, same);
    fill(*stream, same, 1);
    EXPECT_EQ(downloaded(there, far), ramp(1000));
    copy(there, same, far);
    EXPECT_EQ(shared[999], 999u);
    fill(there, same, 2);
    context.reset();
    EXPECT_NO_THROW(there.synchronize());
}
