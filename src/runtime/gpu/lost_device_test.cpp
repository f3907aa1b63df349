// The state of a process that has lost a GPU. Each body runs in its own process, on the simulated driver, which can be
// set to fail.
// SPDX-License-Identifier: MIT
#include "glint/gpu/managed.hpp"
#include "gpu/gpu_fixture.hpp"
#include "tests/expect_error.hpp"
#include "tests/run_with_faults.hpp"

using namespace glint::gpu;
using namespace glint::gpu::test;
using glint::test::expect_error;

namespace {

struct GpuLost : GpuTest {
    void SetUp() override {
        GpuTest::SetUp();
        if (!IsSkipped() && !set_stranger()) GTEST_SKIP() << "a real GPU is not broken on purpose";
    }
    static void expect_passes(const std::string& body, const std::string& fault) {
        glint::test::expect_passes("GpuLost", body, fault);
    }
};

}  // namespace

TEST_F(GpuLost, DISABLED_in_a_child_by_an_illegal_address) {
    const Context context(0, {.limit_bytes = 64 * mib});
    const Stream stream(context);
    Buffer<unsigned> buffer(stream, 1000);
    expect_error<DeviceLost>([&] { stream.synchronize(); }, {"GPU 0", "700", "restart"});
    expect_error<DeviceLost>([&] { buffer.read_on(stream); }, {"GPU 0", "lost to this process"});
    expect_error<DeviceLost>([&] { Buffer<unsigned>(stream, 10); }, {"lost to this process"});
    expect_error<DeviceLost>([] { Context another(0); }, {"lost to this process", "restart"});
    EXPECT_EQ(context.statistics().live_bytes, 4000u);
    EXPECT_NE(inventory().devices.at(0).why_not.find("lost to this process"), std::string::npos);
}

TEST_F(GpuLost, DISABLED_in_a_child_never_by_a_full_device) {
    const Context context(0, {.limit_bytes = 64 * mib});
    const Stream stream(context);
    EXPECT_NO_THROW(Buffer<unsigned>(stream, 1000)) << "the fallbacks try again";
    EXPECT_EQ(context.statistics().retries, 2u);
}

TEST_F(GpuLost, DISABLED_in_a_child_not_by_a_context_that_could_not_be_made) {
    expect_error<OutOfMemory>([] { Context context(0); }, {"GPU 0", "try again later"});
    try {
        Context context(0);
        ADD_FAILURE() << "nothing was thrown";
    } catch (const GpuError& error) {
        EXPECT_EQ(error.code, glint::cu::unknown) << error.what();
    }
    EXPECT_NO_THROW(Context(0));
}

TEST_F(GpuLost, by_an_illegal_address) { expect_passes("by_an_illegal_address", "cuStreamSynchronize:1:700"); }
TEST_F(GpuLost, never_by_a_full_device) {
    expect_passes("never_by_a_full_device", "cuMemAllocFromPoolAsync:1:2,cuMemAllocFromPoolAsync:2:2");
}
TEST_F(GpuLost, not_by_a_context_that_could_not_be_made) {
    expect_passes("not_by_a_context_that_could_not_be_made",
                  "cuDevicePrimaryCtxRetain:1:2,cuDevicePrimaryCtxRetain:2:999");
}
