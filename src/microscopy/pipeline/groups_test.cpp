// If shapes are fitted, large groups are left to the CPU while a GPU fits the other groups. The rows equal those of the
// CPU alone.
// SPDX-License-Identifier: MIT
#include "pipeline/groups.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <random>
#include <utility>

#include "glint/detect.hpp"
#include "pipeline/found_spots.hpp"
#include "pipeline/localize_job.hpp"
#include "tests/simulated_movie.hpp"

using namespace glint;

namespace {

/// Spots of crowded frames, fitted separately.
struct Crowd {
    explicit Crowd(PsfModel model) : job(make_job(info(), camera, options(model))), found(job) {
        const FrameBlock block = test::simulated_frames(camera, edge, edge, frames, 0.015 * edge * edge);
        Detector detector(job.camera, detect_options(job));
        std::vector<float> photoelectrons(std::size_t(edge) * edge);
        Spots spots;
        for (int k = 0; k < frames; ++k) {
            job.camera.to_photoelectrons(block.frame(k), block.type, photoelectrons);
            detector.find(photoelectrons, spots);
            found.cut(photoelectrons, job.camera, spots, std::uint32_t(k));
        }
        Fitter fitter;
        FitInfo unused;
        found.fits = fit_on_this_thread(job, fitter, found.rois, unused);
    }
    Fits together(const FindOnGpu& on_gpu) const {
        Fits fits = found.fits;
        fit_groups(found.rois, found.wide, job.options.psf, job.options.pixel_size_nm, joint_options(job), nullptr,
                   on_gpu, fits);
        return fits;
    }

    static constexpr int edge = 96, frames = 3;
    static MovieInfo info() {
        MovieInfo info;
        info.width = info.height = edge, info.frames = frames;
        return info;
    }
    static LocalizeOptions options(PsfModel model) {
        LocalizeOptions options;
        options.psf.model = model, options.psf.sigma_nm = 130, options.pixel_size_nm = 100;
        options.fit.psf_misfit = 0.02;
        return options;
    }
    Camera camera = test::scmos_camera();
    LocalizeJob job;
    FoundSpots found;
};

void expect_rows_as_by_the_cpu_alone(PsfModel model, bool parts) {
    const Crowd crowd(model);
    JointFitter fitter(crowd.job.options.psf, crowd.job.options.pixel_size_nm, joint_options(crowd.job));
    std::size_t largest = 0;
    const Fits alone = crowd.together({}), both = crowd.together([&](std::span<const JointCut> cuts) {
        for (const JointCut& group : cuts) {
            largest = std::max(largest, group.fit->emitters.size());
            if (const JointPixels pixels = cut(group, fitter); pixels.width > 0)
                fitter.run(pixels, group.search, *group.fit);
        }
    });
    EXPECT_EQ(largest < many_molecules, parts) << largest;
    EXPECT_GE(largest, 2u);
    EXPECT_GT(alone.count(), crowd.found.fits.count());
    EXPECT_EQ(both.theta, alone.theta);
    EXPECT_EQ(both.crlb, alone.crlb);
}

}  // namespace

TEST(Groups, are_of_windows_that_share_pixels) {
    constexpr std::size_t first = 7, count = 400;
    Rois rois;
    rois.size = 9;
    std::mt19937 random(5);
    for (std::size_t k = 0; k < first + count; ++k)
        rois.x_corner.push_back(int(random() % 200)), rois.y_corner.push_back(int(random() % 200));
    std::vector<std::size_t> windows(count), group(first + count);
    std::iota(windows.begin(), windows.end(), first);
    const auto groups = groups_of(rois, windows);
    ASSERT_GT(groups.size(), 10u);
    ASSERT_LT(groups.size(), count - 10);
    std::size_t before = 0;
    for (std::size_t g = 0; g < groups.size(); ++g) {
        EXPECT_EQ(groups[g].data(), windows.data() + before);
        EXPECT_TRUE(std::is_sorted(groups[g].begin(), groups[g].end()));
        before += groups[g].size();
        for (const std::size_t k : groups[g]) group[k] = g;
    }
    EXPECT_EQ(before, count);
    const auto share = [&](std::size_t a, std::size_t b) {
        return std::abs(rois.x_corner[a] - rois.x_corner[b]) < rois.size &&
               std::abs(rois.y_corner[a] - rois.y_corner[b]) < rois.size;
    };
    std::vector<std::size_t> least(first + count);  // lowest window number among the windows connected by shared pixels
    std::iota(least.begin(), least.end(), std::size_t(0));
    for (bool changed = true; std::exchange(changed, false);)
        for (std::size_t a = first; a < least.size(); ++a)
            for (std::size_t b = first; b < a; ++b)
                if (least[a] != least[b] && share(a, b))
                    least[a] = least[b] = std::min(least[a], least[b]), changed = true;
    for (std::size_t k = first; k < least.size(); ++k) EXPECT_EQ(groups[group[k]].front(), least[k]);
}

TEST(Groups, large_ones_are_left_to_the_cpu_where_shapes_are_fitted) {
    expect_rows_as_by_the_cpu_alone(PsfModel::GaussianXYNBS, true);
}

TEST(Groups, a_gpu_fits_all_of_fixed_widths) { expect_rows_as_by_the_cpu_alone(PsfModel::GaussianXYNB, false); }
