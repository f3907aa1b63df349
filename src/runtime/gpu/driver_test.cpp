// The driver's table without a driver, and the effect of a fork on it with one.
// SPDX-License-Identifier: MIT
#include "gpu/driver.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "gpu/advice.hpp"
#include "gpu/context_state.hpp"
#include "gpu/gpu_fixture.hpp"
#include "gpu/nvml.hpp"
#include "tests/expect_error.hpp"

using namespace glint::gpu;
using glint::gpu::test::GpuTest;
using glint::test::expect_error;
namespace cu = glint::cu;

TEST(Driver, says_why_it_cannot_be_used) {
    if (driver().why.empty()) GTEST_SKIP() << "there is a GPU";
    expect_error<NoGpu>([] { usable_driver(); }, {driver().why.c_str()});
    expect_error<NoGpu>([] { Context context(0); }, {driver().why.c_str()});
}

TEST(Driver, a_sticky_error_is_a_lost_device_and_others_are_not) {
    expect_error<DeviceLost>([] { check(cu::illegal_address, "cuStreamSynchronize"); },
                             {"cuStreamSynchronize", "700", "restart"});
    expect_error<OutOfMemory>([] { check(cu::out_of_memory, "cuMemHostRegister"); }, {"cuMemHostRegister", "(2)"});
    EXPECT_NO_THROW(check(cu::success, "cuInit"));
    for (const cu::Result result : {cu::unknown, cu::not_ready, cu::invalid_value, cu::capture_unsupported})
        EXPECT_FALSE(is_sticky(result)) << result;
}

// Errors that users may see. The simulated driver knows the same names as a real driver.
TEST(Driver, errors_have_a_meaning_and_a_remedy) {
    std::vector<int> codes{1, 2, 3, 4, 34, 35, 36, 46, 100, 101, 200, 201, 205, 209, 214, 226, 400, 401, 500, 600, 999};
    for (const auto& [first, last] : {std::pair(218, 223), {300, 304}, {700, 705}, {708, 720}, {800, 805}, {900, 912}})
        for (int code = first; code <= last; ++code) codes.push_back(code);
    for (const int code : codes) {
        const Advice* advice = cuda_advice(code);
        ASSERT_TRUE(advice) << code;
        EXPECT_GT(std::strlen(advice->meaning), 10u) << code;
        EXPECT_GT(std::strlen(advice->remedy), 6u) << code;
    }
    EXPECT_FALSE(cuda_advice(cu::success));
    EXPECT_FALSE(cuda_advice(998));
    for (const int code : {1, 2, 3, 4, 6, 9, 12, 15, 16, 17, 18, 19, 20, 23, 999}) {
        ASSERT_TRUE(nvml_advice(code)) << code;
        EXPECT_GT(std::strlen(nvml_advice(code)->remedy), 6u) << code;
    }
    EXPECT_FALSE(nvml_advice(0));
}

TEST(Driver, an_error_that_is_thrown_has_its_remedy) {
    expect_error<GpuError>([] { check(803, "cuInit"); }, {"cuInit", "(803)", "different versions", "reboot"});
    expect_error<OutOfMemory>([] { check(cu::out_of_memory, "cuMemAlloc"); }, {"no memory left", "glint top"});
    expect_error<DeviceLost>([] { check(214, "cuStreamSynchronize"); }, {"could not correct", "restart it"});
    expect_error<GpuError>([] { check(12345, "cuInit"); }, {"cuInit", "(12345)"});
}

TEST(Driver, nvml_is_there_or_says_why) {
    const bool found = nvml().nvmlDeviceGetCount_v2 != nullptr;
    EXPECT_TRUE(found || !nvml().why.empty());
}

using GpuDriver = GpuTest;

TEST_F(GpuDriver, is_new_enough_and_complete) {
    EXPECT_GE(driver().version, 13000);
    EXPECT_NE(describe(cu::illegal_address).find("CUDA_ERROR_ILLEGAL_ADDRESS"), std::string::npos);
}

TEST_F(GpuDriver, every_error_that_it_names_has_a_remedy) {
    int named = 0;
    for (int code = 1; code <= 999; ++code) {
        const char* name = nullptr;
        if (driver().cuGetErrorName(code, &name) != cu::success || !name) continue;
        ++named;
        EXPECT_TRUE(cuda_advice(code)) << name << " (" << code << ")";
    }
    EXPECT_GT(named, 90);
}

TEST_F(GpuDriver, a_forked_child_is_reported_and_harms_nothing) {
    const Context context(0, {.limit_bytes = 64 * test::mib});
    const Stream stream(context);
    Buffer<unsigned> buffer(stream, 1000);
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
        std::string said;
        try {
            stream.synchronize();
        } catch (const GpuError& error) {
            said = error.what();
        }
        buffer = {};  // must not touch the parent's memory
        said += inventory().why_none;
        const bool written = write(ends[1], said.data(), said.size()) == ssize_t(said.size());
        _exit(written ? 0 : 1);
    }
    close(ends[1]);
    std::string said(4096, '\0');
    said.resize(std::size_t(std::max<ssize_t>(0, read(ends[0], said.data(), said.size()))));
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    EXPECT_NE(said.find("forked"), std::string::npos) << said;
    EXPECT_NE(said.find("forked"), said.rfind("forked")) << "the stream and the inventory both say it: " << said;
    upload(stream, buffer, test::ramp(1000));
    EXPECT_EQ(test::downloaded(stream, buffer), test::ramp(1000));
}

TEST_F(GpuDriver, a_forked_child_ends_its_context_without_a_call) {
    static int calls;
    auto context = std::make_unique<Context>(0, ContextOptions{.limit_bytes = 64 * test::mib});
    auto stream = std::make_unique<Stream>(*context);
    Buffer<unsigned> buffer(*stream, 1000);
    upload(*stream, buffer, test::ramp(1000));  // through a slot with an event
    const pid_t child = fork();
    if (child == 0) {
        Driver table = *context->state().driver;
        table.cuEventDestroy = [](cu::Event) { return ++calls, cu::success; };
        context->state().driver = &table;
        buffer = {};
        stream.reset();
        context.reset();
        _exit(calls);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}
