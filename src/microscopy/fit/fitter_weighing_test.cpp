// Tests of how Fitter chooses between CPU and GPUs by their estimated times.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <cstdlib>

#include "fit/weigh.hpp"
#include "offload/machine.hpp"
#include "tests/gpu_sharing_fixture.hpp"

namespace glint {
namespace {

using namespace test;

/// Sets the cost model to given times of a thousand fits on either side.
class GpuWeighing : public GpuSharing {
  protected:
    void SetUp() override {
        GpuSharing::SetUp();
        ::setenv("XDG_CACHE_HOME", "/dev/null", 1);  // nothing is stored
        options.always_gpu = false;
    }
    void know(double cpu_s, double gpu_s, double context_s) {
        const gpu::Inventory inventory = gpu::inventory();
        const offload::Work work = fit_work(view(rois), 0, psf.model, options);
        const auto cpu = offload::machine_with("", "");
        cpu->forget();
        for (int k = 0; k < 10; ++k) cpu->learn(work, Backend::cpu, cpu_s);
        for (const gpu::Device& device : inventory.devices) {
            const auto machine = offload::machine_with(device.uuid, inventory.driver_version);
            machine->forget();
            offload::Constants constants = machine->constants();
            constants.up_pinned = constants.down_pinned = constants.up_pageable = constants.down_pageable = 1e12;
            constants.context_s = context_s, constants.gpu_flops = constants.cpu_flops = 1e12;
            machine->set(constants);
            for (int k = 0; k < 10; ++k) {
                machine->learn(work, Backend::cpu, cpu_s);
                machine->learn(work, Backend::gpu, gpu_s);
            }
        }
    }
};

TEST_F(GpuWeighing, takes_the_side_that_is_done_sooner_and_says_so) {
    std::string told;
    options.on_decision = [&](const std::string& words) { told = words; };
    know(0.2, 0.02, 0.02);
    fit_with(Backend::automatic);
    EXPECT_EQ(info.backend, "gpu") << info.decision;
    EXPECT_NE(info.decision.find("on the GPU, 5 times faster"), std::string::npos) << info.decision;
    EXPECT_NE(told.find(info.decision), std::string::npos) << told;
    EXPECT_NE(told.find("its context"), std::string::npos) << told;

    know(0.2, 0.02, 1);  // the context alone takes longer
    fit_with(Backend::automatic);
    EXPECT_EQ(info.backend, "cpu") << info.decision;
    EXPECT_EQ(info.note, info.decision);
    options.always_gpu = true;
    fit_with(Backend::automatic);
    EXPECT_EQ(info.backend, "gpu") << "that is switched off";
}

// Each row is fitted once, either by the CPU or by a GPU.
TEST_F(GpuWeighing, the_cpu_joins_in_where_it_pays) {
    if (gpu_count() < 2) GTEST_SKIP() << "there is one GPU only";
    constexpr int copies = 10;
    const std::vector<float> once = rois.pixels;
    for (int k = 1; k < copies; ++k) rois.pixels.insert(rois.pixels.end(), once.begin(), once.end());
    const Fits by_cpu = fit_with(Backend::cpu), by_gpu = fit_with(Backend::gpu);
    options.gpus = all_gpus, options.batch_size = 64;
    std::int64_t on_cpu = 0, on_gpus = 0;
    for (int k = 0; k < 100 && (on_cpu == 0 || on_gpus == 0); ++k) {
        know(3, 2, 0.02);
        const Fits both = fit_with(Backend::automatic);
        EXPECT_NE(info.decision.find("the CPU joins in"), std::string::npos) << info.decision;
        std::int64_t sum = info.cpu_fits;
        for (const GpuPart& part : info.gpus) sum += part.fits, on_gpus += part.fits;
        EXPECT_EQ(sum, info.fits);
        on_cpu += info.cpu_fits;
        for (std::size_t row = 0; row < both.count(); ++row)
            ASSERT_TRUE(both.theta[0][row] == by_cpu.theta[0][row] || both.theta[0][row] == by_gpu.theta[0][row]);
    }
    EXPECT_GT(on_cpu, 0);
    EXPECT_GT(on_gpus, 0);
    know(60, 2, 0.02);  // the CPU would save only a fiftieth
    fit_with(Backend::automatic);
    EXPECT_EQ(info.cpu_fits, 0) << info.decision;
    know(3, 2, 0.02);
    options.gpus = 1;
    fit_with(Backend::automatic);
    EXPECT_EQ(info.cpu_fits, 0) << "only with several";
}

// One GPU is slower than the CPU, but all GPUs together are faster.
TEST_F(GpuWeighing, several_gpus_are_weighed_together) {
    if (gpu_count() < 2) GTEST_SKIP() << "there is one GPU only";
    options.batch_size = 64;
    know(1, 1.5, 0.02);
    fit_with(Backend::automatic);
    EXPECT_EQ(info.backend, "cpu") << info.decision;
    know(1, 1.5, 0.02);
    options.gpus = all_gpus;
    fit_with(Backend::automatic);
    EXPECT_NE(info.decision.find("on the GPU"), std::string::npos) << info.decision;
    EXPECT_NE(info.decision.find(fmt::format("{} GPUs take", gpu_count())), std::string::npos) << info.decision;
}

TEST_F(GpuWeighing, opens_a_gpu_once_that_would_have_paid_off) {
    // GPUs are considered once 0.1 s could have been saved. This is real fit time on the CPU: some hundred calls, or
    // more on a fast CPU.
    constexpr double cpu_s = 5e-4, gpu_s = 1e-6, context_s = 2e-3;
    know(cpu_s, gpu_s, context_s);
    Fitter fitter;
    options.backend = Backend::automatic;
    int on_cpu = 0;
    for (int k = 0; k < 1'000'000 && info.backend != "gpu"; ++k) {
        fitter.fit(rois, psf, pixel_nm, options, &info);
        on_cpu += info.backend == "cpu";
        know(cpu_s, gpu_s, context_s);  // whatever the measured time
    }
    EXPECT_EQ(info.backend, "gpu");
    EXPECT_GE(on_cpu, 1);
}

struct GpuWeighingWithStrangers : GpuWeighing {
    void SetUp() override {
        GpuWeighing::SetUp();
        if (!IsSkipped() && !gpu::test::set_stranger()) GTEST_SKIP() << "nobody else can be made to use a real GPU";
    }
};

// A GPU would save 0.3 s, which limits the wait, although ten minutes are allowed.
TEST_F(GpuWeighingWithStrangers, waits_no_longer_than_the_gpu_would_save) {
    know(0.32, 0.01, 0.01);
    options.auto_timeout_s = 600;
    Fitter fitter;
    options.backend = Backend::automatic;
    fitter.fit(rois, psf, pixel_nm, options, &info);  // the fitter now knows that there is room
    {
        const Stranger stranger;
        Fitter other;
        other.fit(rois, psf, pixel_nm, options, &info);
    }
    EXPECT_EQ(info.backend, "cpu");
    EXPECT_LT(info.waited_seconds, 60) << "with room for a slow machine";
    EXPECT_NE(info.note, "");
}

}  // namespace
}  // namespace glint
