// For tests of fits on shared GPUs: unmanaged processes, and options with short waits.
// SPDX-License-Identifier: MIT
#pragma once

#include <gtest/gtest.h>

#include "glint/fit.hpp"
#include "glint/gpu_fit.hpp"
#include "glint/simulate.hpp"
#include "gpu/gpu_fixture.hpp"
#include "tests/typical_psf.hpp"

namespace glint::test {

constexpr double pixel_nm = 100;
constexpr std::uint64_t mib = gpu::test::mib, gib = 1024 * mib;

/// Occupies all memory of every GPU without a lease, as long as this object lives.
class Stranger {
  public:
    Stranger() { take(0.98); }
    ~Stranger() { take(0); }

  private:
    static void take(double share) {
        for (const gpu::Device& device : gpu::inventory().devices)
            gpu::test::set_stranger()(device.ordinal, std::uint64_t(share * double(device.total_bytes)), 10);
    }
};

class GpuSharing : public gpu::test::GpuTest {
  protected:
    void SetUp() override {
        GpuTest::SetUp();
        if (IsSkipped()) return;
        if (!has_gpu_kernels()) GTEST_SKIP() << "built without nvcc: there are no kernels";
        psf = typical_psf(PsfModel::GaussianXYNB);
        RoiSimulation s;
        s.size = 7, s.count = 2000;
        s.photons_min = 500, s.photons_max = 1000;
        std::array<std::vector<float>, max_parameters> truth;
        rois = simulate_rois(s, psf, pixel_nm, {}, truth);
        options.gpu_memory_bytes = 64 * mib;
        options.gpu_timeout_s = 60;  // longer waits are failures
        options.always_gpu = true;   // these tests are not about the cost model
    }
    Fits fit_with(Backend backend) {
        options.backend = backend;
        return fit(rois, psf, pixel_nm, options, &info);
    }
    static std::uint64_t free_bytes() { return gpu::inventory().devices.at(0).free_bytes; }

    Psf psf;
    Rois rois;
    FitOptions options;
    FitInfo info;
};

struct GpuSharingWithStrangers : GpuSharing {
    void SetUp() override {
        GpuSharing::SetUp();
        if (!IsSkipped() && !gpu::test::set_stranger()) GTEST_SKIP() << "nobody else can be made to use a real GPU";
    }
};

}  // namespace glint::test
