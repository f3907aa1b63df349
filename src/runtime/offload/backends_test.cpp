// The backends of this machine, with a GPU and without one.
// SPDX-License-Identifier: MIT
#include "glint/offload/backends.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "glint/error.hpp"
#include "glint/gpu/device.hpp"
#include "glint/gpu/error.hpp"
#include "glint/isa.hpp"
#include "tests/expect_error.hpp"

using namespace glint;
using namespace glint::offload;
using glint::test::expect_error;

namespace {

/// Independent of the environment's preferences.
struct Backends : ::testing::Test {
    void SetUp() override { ::unsetenv("GLINT_BACKEND"); }
    void TearDown() override { ::unsetenv("GLINT_BACKEND"), ::unsetenv("GLINT_THREADS"); }
};
using GpuBackends = Backends;

BackendInfo detected(Backend kind) {
    for (const BackendInfo& info : detect_backends())
        if (info.kind == kind) return info;
    throw std::logic_error("it is not in the table");
}

/// The flags of the CPU as Linux reports them: " sse2 avx2 fma ".
std::string cpu_flags() {
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);)
        if (line.starts_with("flags")) return line.substr(line.find(':') + 1) + " ";
    return "";
}

bool has_flags(const std::string& flags, std::initializer_list<const char*> names) {
    return std::all_of(names.begin(), names.end(),
                       [&](const char* name) { return flags.find(fmt::format(" {} ", name)) != flags.npos; });
}

}  // namespace

TEST_F(Backends, the_cpu_tells_its_instruction_sets_and_threads) {
    const BackendInfo cpu = detected(Backend::cpu);
    EXPECT_EQ(cpu.name, "cpu");
    EXPECT_TRUE(cpu.usable());
    EXPECT_EQ(cpu.instruction_set, active_isa());
#if defined(__x86_64__)
    const std::string flags = cpu_flags();
    std::vector<std::string> sets{"sse2"};
    if (has_flags(flags, {"avx2", "fma", "bmi1", "bmi2"})) sets.insert(sets.begin(), "avx2");
    if (has_flags(flags, {"avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512cd"}))
        sets.insert(sets.begin(), "avx512");
    EXPECT_EQ(cpu.instruction_sets, sets) << flags;
#endif
    EXPECT_EQ(cpu.detail.find(active_isa()), 0u) << cpu.detail;
    ASSERT_EQ(cpu.devices.size(), 1u);
    EXPECT_FALSE(cpu.devices[0].name.empty());
    EXPECT_GT(cpu.devices[0].total_bytes, cpu.devices[0].free_bytes);
    EXPECT_GT(cpu.devices[0].free_bytes, 0u);
    ::setenv("GLINT_THREADS", "3", 1);
    EXPECT_EQ(detected(Backend::cpu).threads, 3);
    EXPECT_NE(detected(Backend::cpu).detail.find(", 3 threads"), std::string::npos) << cpu.detail;
}

TEST_F(Backends, a_variable_that_will_not_do_is_reported_and_thrown_by_none_but_the_choice) {
    ::setenv("GLINT_THREADS", "none", 1);
    const BackendInfo cpu = detected(Backend::cpu);
    EXPECT_NE(cpu.why_not.find("GLINT_THREADS=none"), std::string::npos) << cpu.why_not;
    EXPECT_TRUE(cpu.devices.empty());
    ::setenv("GLINT_BACKEND", "cpu", 1);
    expect_error<OptionError>([] { best_backend(); }, {"GLINT_THREADS=none"});
    ::setenv("GLINT_BACKEND", "abacus", 1);
    expect_error<OptionError>([] { best_backend(); }, {"GLINT_BACKEND=abacus"});
}

TEST_F(Backends, cuda_says_why_it_cannot_be_used) {
    if (gpu::inventory().why_none.empty()) GTEST_SKIP() << "it can be used here";
    const BackendInfo cuda = detected(Backend::gpu);
    EXPECT_EQ(cuda.name, "cuda");
    ASSERT_FALSE(cuda.why_not.empty());
    EXPECT_TRUE(cuda.devices.empty());
    EXPECT_EQ(best_backend().kind, Backend::cpu);
    ::setenv("GLINT_BACKEND", "gpu", 1);
    expect_error<gpu::NoGpu>([] { best_backend(); }, {"GLINT_BACKEND=gpu: ", cuda.why_not.c_str()});
}

TEST_F(GpuBackends, cuda_is_the_best_unless_the_cpu_is_asked_for) {
    const gpu::Inventory there = gpu::inventory();
    if (!there.why_none.empty()) GTEST_SKIP() << there.why_none;
    const BackendInfo best = best_backend();
    ASSERT_EQ(best.kind, Backend::gpu);
    EXPECT_EQ(best.detail.find("driver "), 0u) << best.detail;
    ASSERT_FALSE(best.devices.empty());
    EXPECT_LE(best.devices.size(), there.devices.size());
    for (const BackendDevice& device : best.devices) {
        EXPECT_FALSE(device.name.empty());
        EXPECT_GT(device.total_bytes, 0u);
    }
    ::setenv("GLINT_BACKEND", "cpu", 1);
    EXPECT_EQ(best_backend().kind, Backend::cpu);
}
