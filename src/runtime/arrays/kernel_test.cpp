// User-defined kernels, compiled by NVRTC or its stand-in.
// SPDX-License-Identifier: MIT
#include "glint/arrays/kernel.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "arrays/libraries.hpp"
#include "glint/arrays/error.hpp"
#include "glint/arrays/operations.hpp"
#include "glint/error.hpp"
#include "gpu/gpu_fixture.hpp"

namespace glint::arrays {
namespace {

using offload::Session;

const KernelSource axpy{
    R"(extern "C" __global__ void axpy(float* y, const float* x, float a, unsigned n) {
           const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
           if (i < n) y[i] += a * x[i];
       })",
    "axpy"};

class GpuKernel : public gpu::test::GpuTest {
  protected:
    void SetUp() override {
        GpuTest::SetUp();
        if (IsSkipped()) return;
        try {
            nvrtc();
        } catch (const LibraryMissing& missing) {
            GTEST_SKIP() << missing.what();
        }
    }
    Session session{{.choice = Backend::gpu, .gpu_memory_bytes = 64 << 20, .gpu_timeout_s = 60}};
};

TEST_F(GpuKernel, runs_in_stream_order) {
    const std::vector<float> ones(1000, 1);
    const auto x = to_device<float>(session, View<const float>(ones.data(), {1000}));
    const auto y = to_device<float>(session, View<const float>(ones.data(), {1000}));
    for (int k = 0; k < 3; ++k) launch(session, axpy, 4, 256, {y, x, 2.0f, 1000u});
    std::vector<float> result(1000);
    to_host<float>(session, y, View<float>(result.data(), {1000}));
    EXPECT_EQ(result, std::vector<float>(1000, 7));
    if (!parameter_bytes(session, axpy).empty()) {
        EXPECT_EQ(parameter_bytes(session, axpy), (std::vector<std::size_t>{8, 8, 4, 4}));
        EXPECT_THROW(launch(session, axpy, 4, 256, {y, x, 2.0, 1000u}), OptionError);
        EXPECT_THROW(launch(session, axpy, 4, 256, {y, x, 2.0f}), OptionError);
    }
    EXPECT_THROW(launch(session, axpy, 0, 256, {y, x, 2.0f, 1000u}), OptionError);
}

TEST_F(GpuKernel, that_is_none_is_refused) {
    EXPECT_THROW(launch(session, {axpy.source, "saxpy"}, 1, 1, {}), OptionError);
    EXPECT_THROW(launch(session, {axpy.source + "}", "axpy"}, 1, 1, {}), OptionError);
    EXPECT_THROW(launch(session, {axpy.source, "axpy", {"no-option"}}, 1, 1, {}), OptionError);
}

}  // namespace
}  // namespace glint::arrays
