// Tests of decisions that do not query the driver.
// SPDX-License-Identifier: MIT
#include "offload/advisor.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

namespace glint::offload {
namespace {

/// Each test has its own kind of work, without measurements.
Work work_of(const Operation& operation) {
    Work work;
    work.operation = &operation, work.size = 1000, work.flops = 1e6, work.bytes_to_gpu = 1000, work.library = "kernels";
    return work;
}
void cpu_takes(const Work& work, double seconds) {
    for (int k = 0; k < 10; ++k) machine_with("", "")->learn(work, Backend::cpu, seconds);
}
void gpu_takes(const Work& work, double seconds) {
    const auto machine = machine_with("GPU-of-this-test", "1");
    Constants constants = machine->constants();
    constants.up_pinned = constants.down_pinned = constants.up_pageable = constants.down_pageable = 1e12;
    machine->set(constants);
    machine->set_context(0.1, 0.2), machine->set_library(std::string(work.library), 0.3);
    for (int k = 0; k < 10; ++k) machine->learn(work, Backend::gpu, seconds);
}

TEST(GpuAdvisor, asks_no_driver_where_even_an_idle_gpu_would_be_later) {
    if (!driver_is_there()) GTEST_SKIP() << "there is no driver";
    ::setenv("XDG_CACHE_HOME", "/dev/null", 1);  // nothing is stored
    machine_with("", "")->forget();              // measurements of other tests
    static const Operation quick("quick", "things", 1, 1, 0), slow("slow", "things", 1, 1, 0),
        fit("fit", "things", 1, 1, 0);
    cpu_takes(work_of(quick), 0.3), cpu_takes(work_of(slow), 0.9), cpu_takes(work_of(fit), 0.9);
    EXPECT_TRUE(Advisor().too_short(work_of(quick))) << "a GPU that was not measured is assumed to need 0.6 s";
    EXPECT_FALSE(Advisor().too_short(work_of(slow)));

    gpu_takes(work_of(slow), 0.4), gpu_takes(work_of(fit), 0.2);
    EXPECT_TRUE(Advisor().too_short(work_of(slow)));
    const Decision decision = Advisor().choose_cpu(work_of(slow));
    EXPECT_EQ(decision.choice, Backend::cpu);
    EXPECT_NEAR(decision.gpu.total(), 1.0, 1e-3);
    EXPECT_NEAR(decision.speedup, 1.0 / 0.9, 1e-2);
    EXPECT_FALSE(Advisor().too_short(work_of(fit)));
    machine_with("", "")->forget();
}

}  // namespace
}  // namespace glint::offload
