// Separate contexts beside the primary one.
// SPDX-License-Identifier: MIT
#include "glint/gpu/managed.hpp"

#include <optional>
#include <thread>

#include "gpu/gpu_fixture.hpp"
#include "tests/expect_error.hpp"

using namespace glint::gpu;
using namespace glint::gpu::test;
using glint::test::expect_error;
namespace cu = glint::cu;

namespace {

const ContextOptions separate{.limit_bytes = 64 * mib, .separate = true};
const ContextOptions primary{.limit_bytes = 64 * mib};

struct GpuSeparateContext : GpuTest {
    static cu::Context current() {
        cu::Context context = nullptr;
        check(driver().cuCtxGetCurrent(&context), "cuCtxGetCurrent");
        return context;
    }
    static bool primary_is_active() {
        unsigned flags = 0;
        int active = 0;
        check(driver().cuDevicePrimaryCtxGetState(0, &flags, &active), "cuDevicePrimaryCtxGetState");
        return active != 0;
    }
};

}  // namespace

TEST_F(GpuSeparateContext, leaves_the_callers_current_context_and_the_primary_one_alone) {
    const bool active = primary_is_active();
    const cu::Context before = current();
    {
        const Context ours(0, separate);
        EXPECT_EQ(current(), before);
        EXPECT_EQ(primary_is_active(), active);
        EXPECT_TRUE(context_is_there(0));
        const Stream stream(ours);
        Buffer<unsigned> buffer(stream, 1000);
        upload(stream, buffer, ramp(1000));
        EXPECT_EQ(downloaded(stream, buffer), ramp(1000));
    }
    EXPECT_EQ(current(), before);
    EXPECT_EQ(context_is_there(0), active);
}

TEST_F(GpuSeparateContext, comes_on_top_of_one_that_is_current) {
    cu::Context theirs = nullptr;
    check(driver().cuDevicePrimaryCtxRetain(&theirs, 0), "cuDevicePrimaryCtxRetain");
    check(driver().cuCtxSetCurrent(theirs), "cuCtxSetCurrent");
    {
        const Context ours(0, separate);
        EXPECT_EQ(current(), theirs);
    }
    EXPECT_EQ(current(), theirs);
    check(driver().cuCtxSetCurrent(nullptr), "cuCtxSetCurrent");
    EXPECT_EQ(current(), nullptr) << "nothing was left below it";
    check(driver().cuDevicePrimaryCtxRelease(0), "cuDevicePrimaryCtxRelease");
}

TEST_F(GpuSeparateContext, shares_memory_with_the_primary_one_of_its_gpu) {
    const Context first(0, primary);
    std::optional<Context> second(std::in_place, 0, separate), third(std::in_place, 0, separate);
    const Stream one(first), two(*second), three(*third);
    Buffer<unsigned> here(one, 1000), there(two, 1000), further(three, 1000);
    upload(one, here, ramp(1000, 3));
    copy(two, there, here);
    copy(two, further, there);
    EXPECT_EQ(downloaded(three, further), ramp(1000, 3));
    EXPECT_EQ(downloaded(one, there), ramp(1000, 3)) << "a stream of another context reaches it";
    third.reset();
    second.reset();
    EXPECT_EQ(downloaded(one, here), ramp(1000, 3));
}

TEST_F(GpuSeparateContext, managed_memory_of_another_one_stays) {
    const Context first(0, primary);
    Managed<unsigned> kept(first, 1000);
    {
        const Context second(0, separate);
        const Managed<unsigned> gone(second, 1000);
    }
    kept[999] = 7;
    EXPECT_EQ(kept[999], 7u);
}

TEST_F(GpuSeparateContext, can_end_on_another_thread) {
    auto context = std::make_unique<Context>(0, separate);
    std::thread([&] { context.reset(); }).join();
    EXPECT_EQ(current(), nullptr);
    const Context again(0, separate);
    again.synchronize();
}
