// Joint fits on a GPU, real or simulated, against those on the CPU.
// SPDX-License-Identifier: MIT
#include "fit/cuda/joint_on_gpu.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "glint/gpu_fit.hpp"
#include "gpu/gpu_fixture.hpp"
#include "psf/in_double.hpp"
#include "tests/typical_psf.hpp"

namespace glint {
namespace {

constexpr double pixel_um = 0.1, background = 10;

/// Groups, and what is known of them before the fit: of some molecules the place.
struct Groups {
    std::vector<JointPixels> pixels;
    std::vector<JointFit> begun;
};

Groups random_groups(const Psf& model, int count, unsigned seed) {
    const PsfInDouble psf(model, pixel_um);
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> uniform;
    Groups all;
    for (int g = 0; g < count; ++g) {
        const int width = 12 + int(random() % 30), height = 12 + int(random() % 20);
        JointPixels pixels({100, 50, width, height});
        std::vector<double> mu(std::size_t(width * height), background);
        JointFit fit;
        fit.bg = background;
        const int molecules =
            1 + int(random() % unsigned(width * height / (parameter_count(model.model) > 4 ? 150 : 60)));
        for (int m = 0; m < molecules; ++m) {
            Emitter e;
            e.theta[0] = 102 + uniform(random) * (width - 5), e.theta[1] = 52 + uniform(random) * (height - 5);
            e.theta[2] = 1500 + 1500 * uniform(random);
            psf.typical_shape(0.2 * uniform(random) - 0.1, e.theta.data() + 4);
            psf.add_photons(e.theta.data(), 100, 50, width, height, mu.data());
            if (m % 3 == 2) continue;  // to be found
            e.theta[0] += 0.2, e.theta[2] *= 0.8;
            fit.emitters.push_back(e);
        }
        for (int p = 0; p < width * height; ++p) {
            const std::size_t at = pixels.at(100 + p % width, 50 + p / width);
            pixels.data[at] = float(std::poisson_distribution<int>(mu[std::size_t(p)])(random));
            pixels.known[at] = 0, pixels.per_photon[at] = pixels.searched[at] = 1;
        }
        all.pixels.push_back(pixels), all.begun.push_back(fit);
    }
    return all;
}

std::vector<JointTask> tasks_of(const Groups& groups, std::vector<JointFit>& fits) {
    fits = groups.begun;
    std::vector<JointTask> tasks;
    for (std::size_t g = 0; g < fits.size(); ++g) tasks.push_back({&groups.pixels[g], &fits[g]});
    return tasks;
}

class GpuJoint : public gpu::test::OneGpuTest {
  protected:
    void SetUp() override {
        OneGpuTest::SetUp();
        if (!IsSkipped() && !has_gpu_kernels()) GTEST_SKIP() << "built without nvcc: there are no kernels";
        if (!IsSkipped()) kernels = std::make_unique<FitKernels>(*context);
    }
    JointOptions options() const {
        JointOptions how;
        how.tolerance = 1e-3;  // so that both end at the maximum
        return how;
    }
    std::vector<JointFit> fitted(const Groups& groups, const Psf& psf, std::size_t bytes = 128 * gpu::test::mib) {
        std::vector<JointFit> fits;
        JointOnGpu(*context, *kernels, psf, pixel_um, options(), bytes).find(tasks_of(groups, fits));
        return fits;
    }
    std::unique_ptr<FitKernels> kernels;
};

/// Molecules that earn their place by less than rounding may be found by one and not by the other; the likelihood ratio
/// of one in some thousand is that close to its threshold.
void expect_same(const std::vector<JointFit>& cpu, const std::vector<JointFit>& gpu, int parameters) {
    std::size_t different = 0;
    for (std::size_t g = 0; g < cpu.size(); ++g) {
        if (cpu[g].emitters.size() != gpu[g].emitters.size()) {
            ++different;
            continue;
        }
        EXPECT_NEAR(cpu[g].bg, gpu[g].bg, 0.02 * background) << g;
        EXPECT_NEAR(cpu[g].half_deviance, gpu[g].half_deviance, 0.01 + 1e-4 * std::abs(cpu[g].half_deviance)) << g;
        EXPECT_NEAR(cpu[g].p_value, gpu[g].p_value, 2e-3) << g;
        EXPECT_EQ(cpu[g].settled, gpu[g].settled) << g;
        bool same = true;
        for (std::size_t e = 0; e < cpu[g].emitters.size(); ++e)
            for (int k = 0; k < parameters; ++k) {
                const Emitter &a = cpu[g].emitters[e], &b = gpu[g].emitters[e];
                const std::size_t q = std::size_t(k);
                same = same && std::abs(a.crlb[q] - b.crlb[q]) < 0.01 * a.crlb[q];
                if (k != 3) same = same && std::abs(a.theta[q] - b.theta[q]) < 0.01 * a.crlb[q];
            }
        different += !same;
    }
    EXPECT_LE(different, 2u) << "of " << cpu.size();
}

}  // namespace

TEST_F(GpuJoint, finds_what_the_cpu_finds) {
    for (const PsfModel model : psf_models()) {
        SCOPED_TRACE(name_of(model));
        const Psf psf = test::typical_psf(model);
        const Groups groups = random_groups(psf, 60, 5);
        std::vector<JointFit> cpu;
        JointFitter fitter(psf, pixel_um, options());
        std::size_t known = 0, found = 0;
        for (const JointTask& task : tasks_of(groups, cpu)) {
            known += task.fit->emitters.size();
            fitter.find(*task.pixels, *task.fit);
            found += task.fit->emitters.size();
        }
        EXPECT_GT(found, known + known / 10);
        expect_same(cpu, fitted(groups, psf), parameter_count(model));
    }
}

TEST_F(GpuJoint, gives_the_same_alone_and_among_many) {
    const Psf psf = test::typical_psf(PsfModel::GaussianXYNB);
    const Groups groups = random_groups(psf, 40, 6);
    const std::vector<JointFit> together = fitted(groups, psf);
    for (std::size_t g = 0; g < together.size(); g += 7) {
        const JointFit alone = fitted({{groups.pixels[g]}, {groups.begun[g]}}, psf).front();
        ASSERT_EQ(alone.emitters.size(), together[g].emitters.size());
        for (std::size_t e = 0; e < alone.emitters.size(); ++e)
            EXPECT_EQ(alone.emitters[e].theta, together[g].emitters[e].theta);
        EXPECT_EQ(alone.bg, together[g].bg);
    }
}

TEST_F(GpuJoint, takes_fewer_at_once_where_memory_is_short) {
    const Psf psf = test::typical_psf(PsfModel::GaussianXYNB);
    const Groups groups = random_groups(psf, 300, 7);
    const std::vector<JointFit> roomy = fitted(groups, psf);
    context = std::make_unique<gpu::Context>(0, gpu::ContextOptions{.limit_bytes = 6 * gpu::test::mib});
    stream = std::make_unique<gpu::Stream>(*context), kernels = std::make_unique<FitKernels>(*context);
    const std::vector<JointFit> tight = fitted(groups, psf);
    for (std::size_t g = 0; g < roomy.size(); ++g) {
        ASSERT_EQ(roomy[g].emitters.size(), tight[g].emitters.size());
        for (std::size_t e = 0; e < roomy[g].emitters.size(); ++e)
            EXPECT_EQ(roomy[g].emitters[e].theta, tight[g].emitters[e].theta);
    }
}

}  // namespace glint
