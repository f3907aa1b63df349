// What can be computed on, with a GPU and without one.
// SPDX-License-Identifier: MIT
#include "glint/offload/backends.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "glint/environment.hpp"
#include "glint/error.hpp"
#include "glint/gpu/device.hpp"
#include "glint/gpu/error.hpp"
#include "glint/isa.hpp"
#include "tests/expect_error.hpp"

using namespace glint;
using namespace glint::offload;
using glint::test::expect_error;

namespace {

/// Whatever the surroundings prefer.
struct Backends : ::testing::Test {
    void SetUp() override { ::unsetenv("GLINT_BACKEND"); }
    void TearDown() override { ::unsetenv("GLINT_BACKEND"), ::unsetenv("GLINT_THREADS"); }
};
using GpuBackends = Backends;

BackendInfo detected(BackendKind kind) {
    for (const BackendInfo& info : detect_backends())
        if (info.kind == kind) return info;
    throw std::logic_error("it is not in the table");
}

}  // namespace

TEST_F(Backends, the_cpu_tells_its_instruction_sets_and_threads) {
    const BackendInfo cpu = detected(BackendKind::cpu);
    EXPECT_EQ(cpu.name, "cpu");
    EXPECT_TRUE(cpu.usable());
    EXPECT_EQ(cpu.instruction_set, active_isa());
    EXPECT_EQ(cpu.instruction_sets, available_isas());
    EXPECT_EQ(cpu.threads, environment::threads());
    EXPECT_EQ(cpu.detail.find(active_isa()), 0u) << cpu.detail;
    ASSERT_EQ(cpu.devices.size(), 1u);
    EXPECT_FALSE(cpu.devices[0].name.empty());
    EXPECT_GT(cpu.devices[0].total_bytes, cpu.devices[0].free_bytes);
    EXPECT_GT(cpu.devices[0].free_bytes, 0u);
}

TEST_F(Backends, a_variable_that_will_not_do_is_told_and_thrown_by_none_but_the_choice) {
    ::setenv("GLINT_THREADS", "none", 1);
    const BackendInfo cpu = detected(BackendKind::cpu);
    EXPECT_NE(cpu.why_not.find("GLINT_THREADS=none"), std::string::npos) << cpu.why_not;
    EXPECT_TRUE(cpu.devices.empty());
    ::setenv("GLINT_BACKEND", "cpu", 1);
    expect_error<OptionError>([] { best_backend(); }, {"GLINT_THREADS=none"});
    ::setenv("GLINT_BACKEND", "abacus", 1);
    expect_error<OptionError>([] { best_backend(); }, {"GLINT_BACKEND=abacus"});
}

TEST_F(Backends, cuda_says_why_it_cannot_be_used) {
    const BackendInfo cuda = detected(BackendKind::cuda);
    EXPECT_EQ(cuda.name, "cuda");
    EXPECT_EQ(cuda.why_not, gpu::inventory().why_none);
    EXPECT_EQ(cuda.usable(), !cuda.devices.empty());
    EXPECT_EQ(best_backend().kind, cuda.usable() ? BackendKind::cuda : BackendKind::cpu);
    ::setenv("GLINT_BACKEND", "gpu", 1);
    if (!cuda.usable()) expect_error<gpu::NoGpu>([] { best_backend(); }, {"GLINT_BACKEND=gpu: ", cuda.why_not.c_str()});
}

TEST_F(GpuBackends, cuda_is_the_best_unless_the_cpu_is_asked_for) {
    const BackendInfo best = best_backend();
    if (best.kind != BackendKind::cuda) GTEST_SKIP() << detected(BackendKind::cuda).why_not;
    EXPECT_EQ(best.detail.find("driver "), 0u) << best.detail;
    for (const BackendDevice& device : best.devices) {
        EXPECT_FALSE(device.name.empty());
        EXPECT_GT(device.total_bytes, 0u);
    }
    ::setenv("GLINT_BACKEND", "cpu", 1);
    EXPECT_EQ(best_backend().kind, BackendKind::cpu);
}
