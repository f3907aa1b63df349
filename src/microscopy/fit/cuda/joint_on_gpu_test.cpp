// Joint fits on a GPU, real or simulated, against joint fits on the CPU.
// SPDX-License-Identifier: MIT
#include "fit/cuda/joint_on_gpu.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <string>

#include "glint/gpu_fit.hpp"
#include "gpu/gpu_fixture.hpp"
#include "psf/in_double.hpp"
#include "tests/field_psf.hpp"
#include "tests/typical_psf.hpp"

namespace glint {
namespace {

constexpr double pixel_nm = 100, background = 10;

/// Groups, with the information known before the fit: the positions of some molecules, and all light of other groups.
struct Groups {
    Rois rois;  // windows that cover each group
    std::vector<std::vector<std::size_t>> windows;
    std::vector<std::vector<JointLight>> light, earlier;
    std::vector<JointFit> begun;
};

enum class Noise { ideal, maps };

/// Returns the corners of windows that cover `pixels` pixels.
std::vector<int> corners_along(int pixels, int size) {
    std::vector<int> corners;
    for (int at = 0; at < pixels - size; at += size) corners.push_back(at);
    corners.push_back(pixels - size);
    return corners;
}

/// `apart_px`: how much farther to the right each group lies.
Groups random_groups(const Psf& model, int count, unsigned seed, Noise noise = Noise::ideal, int apart_px = 0) {
    const PsfInDouble psf(model, pixel_nm);
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> uniform;
    Groups all;
    all.rois.size = 11;
    if (noise == Noise::maps) all.rois.excess_noise = 2;
    for (int g = 0; g < count; ++g) {
        const int width = 12 + int(random() % 30), height = 12 + int(random() % 20), first = 100 + g * apart_px;
        std::vector<double> mu(std::size_t(width * height), background);
        JointFit fit;
        fit.bg = background;
        const PsfInDouble of_group = psf.at(first + 0.5 * (width - 1), 50 + 0.5 * (height - 1));
        const auto molecule = [&](double x, double y) {
            Emitter e;
            e.theta[0] = x, e.theta[1] = y, e.theta[2] = 1500 + 1500 * uniform(random);
            psf.typical_shape(0.2 * uniform(random) - 0.1, e.theta.data() + 4);
            of_group.add_photons(e.theta.data(), first, 50, width, height, mu.data());
            return e;
        };
        const int molecules =
            1 + int(random() % unsigned(width * height / (parameter_count(model.model) > 4 ? 150 : 60)));
        for (int m = 0; m < molecules; ++m) {
            const double x = first + 2 + uniform(random) * (width - 5), y = 52 + uniform(random) * (height - 5);
            Emitter e = molecule(x, y);
            if (m % 3 == 2) continue;  // left for the search to find
            e.theta[0] += 0.2, e.theta[2] *= 0.8;
            fit.emitters.push_back(e);
        }
        const Emitter beside = molecule(first - 3, 50 + uniform(random) * height);
        append_light({&beside, 1}, {first, 50, width, height}, all.light.emplace_back());
        std::vector<float> counts(mu.size()), variance(mu.size()), qe(mu.size());
        for (std::size_t p = 0; p < mu.size(); ++p) {
            counts[p] = float(std::poisson_distribution<int>(mu[p])(random));
            variance[p] = 1 + 3 * float(uniform(random)), qe[p] = 0.9f + 0.2f * float(uniform(random));
        }
        if (noise == Noise::maps) counts[counts.size() / 3] = std::numeric_limits<float>::quiet_NaN();
        all.windows.emplace_back();
        for (const int top : corners_along(height, all.rois.size))
            for (const int left : corners_along(width, all.rois.size)) {
                all.windows.back().push_back(all.rois.x_corner.size());
                all.rois.x_corner.push_back(first + left), all.rois.y_corner.push_back(50 + top);
                for (int y = 0; y < all.rois.size; ++y)
                    for (int x = 0; x < all.rois.size; ++x) {
                        const std::size_t p = std::size_t((top + y) * width + left + x);
                        all.rois.pixels.push_back(counts[p]);
                        if (noise == Noise::ideal) continue;
                        all.rois.variance.push_back(variance[p]), all.rois.qe.push_back(qe[p]);
                    }
            }
        all.begun.push_back(fit);
    }
    all.earlier.resize(std::size_t(count));
    return all;
}

std::vector<JointCut> cuts_of(const Groups& groups, std::vector<JointFit>& fits, bool again = false,
                              bool search = true) {
    std::vector<JointCut> cuts;
    for (std::size_t g = 0; g < fits.size(); ++g)
        cuts.push_back({&groups.rois, &groups.rois, groups.windows[g], rectangle_of(groups.rois, groups.windows[g]),
                        groups.light[g], groups.earlier[g], again, search, &fits[g]});
    return cuts;
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
        std::vector<JointFit> fits = groups.begun;
        JointOnGpu(*context, *kernels, psf, pixel_nm, options(), bytes).find(cuts_of(groups, fits));
        return fits;
    }
    std::unique_ptr<FitKernels> kernels;
};

/// A molecule whose gain is close to its threshold may be found by only one of the fits, because of rounding. The
/// likelihood ratio of one molecule in some thousand is that close.
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
    for (const PsfModel model : psf_models())
        for (const Noise noise : {Noise::ideal, Noise::maps}) {
            SCOPED_TRACE(std::string(to_name(model)) + (noise == Noise::maps ? ", maps" : ""));
            const Psf psf = test::typical_psf(model);
            const Groups groups = random_groups(psf, 60, 5, noise);
            std::vector<JointFit> cpu = groups.begun;
            JointFitter fitter(psf, pixel_nm, options());
            std::size_t known = 0, found = 0;
            for (const JointCut& group : cuts_of(groups, cpu)) {
                known += group.fit->emitters.size();
                fitter.find(cut(group, fitter), *group.fit);
                found += group.fit->emitters.size();
            }
            EXPECT_GT(found, known + known / 10);
            expect_same(cpu, fitted(groups, psf), parameter_count(model));
        }
}

TEST_F(GpuJoint, finds_what_the_cpu_finds_with_a_psf_that_changes_over_the_field) {
    for (const PsfModel model : {PsfModel::SplineXYZNB, PsfModel::SplineXYNB}) {
        SCOPED_TRACE(std::string(to_name(model)));
        Psf psf = test::field_psf(model);
        psf.field_x_px = -110;  // the first groups lie in the first cell, the last in the last
        const Groups groups = random_groups(psf, 40, 7, Noise::ideal, 3);
        std::vector<JointFit> cpu = groups.begun, one_cell = groups.begun;
        JointFitter fitter(psf, pixel_nm, options()), of_one(test::one_cell(psf, 0), pixel_nm, options());
        for (const JointCut& group : cuts_of(groups, cpu)) fitter.find(cut(group, fitter), *group.fit);
        for (const JointCut& group : cuts_of(groups, one_cell)) of_one.find(cut(group, of_one), *group.fit);
        expect_same(cpu, fitted(groups, psf), parameter_count(model));
        EXPECT_NE(cpu.back().half_deviance, one_cell.back().half_deviance);
    }
}

TEST_F(GpuJoint, fits_those_that_are_known_alone) {
    const Psf psf = test::typical_psf(PsfModel::AstigmaticXYZNB);
    const Groups groups = random_groups(psf, 40, 9);
    std::vector<JointFit> cpu = groups.begun, gpu = groups.begun;
    JointFitter fitter(psf, pixel_nm, options());
    for (const JointCut& group : cuts_of(groups, cpu)) fitter.fit(cut(group, fitter), *group.fit);
    JointOnGpu(*context, *kernels, psf, pixel_nm, options(), 128 * gpu::test::mib)
        .find(cuts_of(groups, gpu, false, false));
    for (std::size_t g = 0; g < gpu.size(); ++g) EXPECT_EQ(gpu[g].emitters.size(), groups.begun[g].emitters.size());
    expect_same(cpu, gpu, parameter_count(psf.model));
}

TEST_F(GpuJoint, fits_again_where_another_light_matters) {
    const Psf psf = test::typical_psf(PsfModel::GaussianXYNB);
    Groups groups = random_groups(psf, 40, 8);
    const std::vector<JointFit> first = fitted(groups, psf);
    groups.earlier = groups.light;
    for (std::size_t g = 0; g < groups.light.size(); g += 2) groups.light[g][0][2] *= 0.8f;
    std::vector<JointFit> cpu = first, gpu = first;
    JointFitter fitter(psf, pixel_nm, options());
    std::size_t again = 0;
    for (const JointCut& group : cuts_of(groups, cpu, true)) {
        const JointPixels pixels = cut(group, fitter);
        if (pixels.height == 0) continue;
        fitter.find(pixels, *group.fit);
        ++again;
    }
    EXPECT_EQ(again, 20u);
    JointOnGpu(*context, *kernels, psf, pixel_nm, options(), 128 * gpu::test::mib).find(cuts_of(groups, gpu, true));
    expect_same(cpu, gpu, parameter_count(psf.model));
    for (std::size_t g = 0; g < gpu.size(); ++g) {
        ASSERT_FALSE(gpu[g].emitters.empty());
        EXPECT_EQ(gpu[g].bg == first[g].bg, g % 2 == 1) << g;
    }
}

TEST_F(GpuJoint, gives_the_same_alone_and_among_many) {
    const Psf psf = test::typical_psf(PsfModel::GaussianXYNB);
    const Groups groups = random_groups(psf, 40, 6);
    const std::vector<JointFit> together = fitted(groups, psf);
    for (std::size_t g = 0; g < together.size(); g += 7) {
        std::vector<JointFit> alone = groups.begun;
        const std::vector<JointCut> cuts = cuts_of(groups, alone);
        JointOnGpu(*context, *kernels, psf, pixel_nm, options(), 128 * gpu::test::mib).find({&cuts[g], 1});
        ASSERT_EQ(alone[g].emitters.size(), together[g].emitters.size());
        for (std::size_t e = 0; e < alone[g].emitters.size(); ++e)
            EXPECT_EQ(alone[g].emitters[e].theta, together[g].emitters[e].theta);
        EXPECT_EQ(alone[g].bg, together[g].bg);
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
