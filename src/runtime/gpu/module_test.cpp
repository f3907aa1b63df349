// Modules and kernels: their owners and lifetimes.
// SPDX-License-Identifier: MIT
#include "glint/gpu/buffer.hpp"

#include <optional>

#include "gpu/gpu_fixture.hpp"
#include "tests/expect_error.hpp"

using namespace glint::gpu;
using namespace glint::gpu::test;
using glint::test::expect_error;

namespace {

struct GpuModule : GpuTest {};

}  // namespace

TEST_F(GpuModule, code_that_is_none_is_refused) {
    const Context context(0, {.limit_bytes = 64 * mib});
    std::vector<unsigned char> junk(256, 0x5a);
    junk.back() = 0;  // a driver that treats it as text must find the end
    EXPECT_THROW(Module(context, junk), GpuError);
    EXPECT_THROW(Module(context, {}), GpuError);
}

TEST_F(GpuModule, a_kernel_holds_its_module_and_dies_with_its_context) {
    if (!set_stranger()) GTEST_SKIP() << "only the simulated driver loads this image";
    static constexpr unsigned char image[] = "SIMGPU IMAGE 1\n";
    std::optional<Context> first(std::in_place, 0, ContextOptions{.limit_bytes = 64 * mib});
    const Context second(0, {.limit_bytes = 64 * mib});
    const Kernel kernel = Module(*first, image).kernel("axpy");
    const auto run = [&](const Stream& stream) {
        Buffer<float> x(stream, 1), y(stream, 1);
        upload(stream, x, std::vector<float>{2});
        upload(stream, y, std::vector<float>{1});
        std::uint64_t x_address = x.read_on(stream), y_address = y.write_on(stream);
        float a = 3;
        unsigned n = 1;
        void* arguments[] = {&y_address, &x_address, &a, &n};
        launch(stream, kernel, 1, 1, 0, arguments);
        return downloaded(stream, y)[0];
    };
    EXPECT_EQ(run(Stream(*first)), 7);
    const Stream later(second);
    EXPECT_EQ(run(later), 7) << "another context of the same GPU";
    if (gpu_count() > 1) {
        const Context other(1, {.limit_bytes = 64 * mib});
        expect_error<GpuError>([&] { run(Stream(other)); }, {"axpy", "GPU 0", "GPU 1"});
    }
    first.reset();
    expect_error<GpuError>([&] { run(later); }, {"axpy", "was released"});
    expect_error<glint::OptionError>([&] { launch(later, Kernel(), 1, 1, 0, nullptr); }, {"Module::kernel()"});
}
