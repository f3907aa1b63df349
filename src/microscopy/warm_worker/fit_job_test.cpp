// Jobs as a client sends them, and as a hostile process might.
// SPDX-License-Identifier: MIT
#include "warm_worker/fit_job.hpp"

#include <gtest/gtest.h>

#include <random>

#include "tests/field_psf.hpp"
#include "tests/typical_psf.hpp"

namespace glint::warm_worker {
namespace {

constexpr std::size_t memory_bytes = 1 << 20;

struct FitJobMessage : ::testing::Test {
    std::vector<std::byte> memory = std::vector<std::byte>(memory_bytes);

    /// Returns true if everything the view points to is in the memory.
    bool is_inside(const JobView& view, const FitJob& job) const {
        const auto inside = [&](const void* begin, std::size_t bytes) {
            const auto* at = static_cast<const std::byte*>(begin);
            return bytes == 0 || (at >= memory.data() && at + bytes <= memory.data() + memory.size());
        };
        const std::size_t rows = std::size_t(job.rows);
        bool good = inside(view.rois.pixels, view.rois.count * view.rois.roi_bytes()) && view.rois.count == rows;
        for (const auto& span :
             {view.rois.variance, view.rois.qe, view.rois.additive, view.rois.x_start, view.rois.y_start})
            good = good && inside(span.data(), span.size_bytes());
        for (const auto& span : view.options.start) good = good && inside(span.data(), span.size_bytes());
        for (int k = 0; k < parameter_count(view.psf.model); ++k)
            good = good && inside(view.out.theta[std::size_t(k)], 4 * rows) &&
                   inside(view.out.crlb[std::size_t(k)], 4 * rows);
        good = good && inside(view.rois.x_corner.data(), view.rois.x_corner.size_bytes()) &&
               inside(view.rois.y_corner.data(), view.rois.y_corner.size_bytes());
        return good && inside(view.out.log_likelihood_ratio, 4 * rows) && inside(view.out.p_value, 4 * rows) &&
               inside(view.out.iterations, rows) && inside(view.out.status, rows);
    }
};

/// A stack of `rows` ROIs of 7 px with all columns except the camera's.
struct SampleStack {
    explicit SampleStack(std::size_t rows)
        : pixels(rows * 49, 10),
          variance(rows * 49, 1),
          qe(rows * 49, 1),
          additive(rows * 49, 2),
          x(rows, 3),
          y(rows, 4) {
        view.size = 7, view.count = rows, view.pixels = reinterpret_cast<const std::byte*>(pixels.data());
        view.variance = variance, view.qe = qe, view.additive = additive, view.x_start = x, view.y_start = y;
    }
    std::vector<float> pixels, variance, qe, additive, x, y;
    RoiView view;
};

}  // namespace

TEST_F(FitJobMessage, arrives_as_it_was_sent) {
    const SampleStack stack(20);
    Psf psf = test::typical_psf(PsfModel::AstigmaticXYZNB);
    FitOptions options;
    options.max_iterations = 17, options.tolerance = 0.5f, options.position_margin_px = 2, options.min_sigma_px = 0.25f;
    options.max_sigma_px = 6;
    FitJob job = job_of(stack.view, psf, 108, options);
    job.rows = 20, job.at = 512;
    ASSERT_TRUE(is_sound(job, memory_bytes, {}));
    const Starts starts = starts_of(stack.view, options);
    const BatchLayout layout = layout_of(job);
    copy_parts(up_parts(stack.view, starts, layout, 0), memory.data() + 512, 0, CopyTo::batch);
    const JobView seen(job, memory.data() + 512, {});
    ASSERT_TRUE(is_inside(seen, job));
    EXPECT_EQ(seen.rois.size, 7);
    EXPECT_EQ(reinterpret_cast<const float*>(seen.rois.pixels)[19 * 49], 10);
    EXPECT_EQ(seen.rois.variance[979], 1);
    EXPECT_EQ(seen.rois.qe[979], 1);
    EXPECT_EQ(seen.rois.additive[979], 2);
    EXPECT_EQ(seen.rois.x_start[19], 3);
    EXPECT_EQ(seen.rois.y_start[19], 4);
    EXPECT_EQ(seen.psf.model, psf.model);
    EXPECT_EQ(seen.psf.curve.sx0_nm, psf.curve.sx0_nm);
    EXPECT_EQ(seen.options.max_iterations, 17);
    EXPECT_EQ(seen.options.tolerance, 0.5f);
    EXPECT_EQ(seen.options.max_sigma_px, 6);
    // The results are also where the client reads them.
    Fits fits;
    fits.resize(psf.model, 20);
    seen.out.theta[1][19] = 5, seen.out.crlb[4][0] = 6, seen.out.p_value[3] = 0.5f;
    seen.out.iterations[19] = 9, seen.out.status[7] = FitStatus(1);
    copy_parts(down_parts(view(fits), layout, 0), memory.data() + 512 + results_at(layout), 0, CopyTo::parts);
    EXPECT_EQ(fits.theta[1][19], 5);
    EXPECT_EQ(fits.crlb[4][0], 6);
    EXPECT_EQ(fits.p_value[3], 0.5f);
    EXPECT_EQ(fits.iterations[19], 9);
    EXPECT_EQ(fits.status[7], FitStatus(1));
}

TEST_F(FitJobMessage, a_psf_over_the_field_arrives_with_the_corners) {
    SampleStack stack(20);
    std::vector<std::int32_t> x(20, 31), y(20, -7);
    x[19] = 77;
    stack.view.x_corner = x, stack.view.y_corner = y;
    Psf psf = test::field_psf(PsfModel::SplineXYZNB);
    psf.field_x_px = 12;
    const LargeParts sent{nullptr, psf.table};
    std::vector<std::byte> packed(num_bytes(sent));
    pack(sent, packed);
    FitJob job = job_of(stack.view, psf, 100, {});
    job.rows = 20;
    const auto parts = unpack(job.camera, job.setup, packed);
    ASSERT_TRUE(parts);
    EXPECT_EQ(parts->table->hash(), psf.table->hash());
    EXPECT_EQ(parts->table->field(), psf.table->field());
    ASSERT_TRUE(is_sound(job, memory_bytes, *parts));
    copy_parts(up_parts(stack.view, starts_of(stack.view, {}), layout_of(job), 0), memory.data(), 0, CopyTo::batch);
    const JobView seen(job, memory.data(), *parts);
    ASSERT_TRUE(is_inside(seen, job));
    ASSERT_EQ(seen.rois.x_corner.size(), 20u);
    EXPECT_EQ(seen.rois.x_corner[19], 77);
    EXPECT_EQ(seen.rois.y_corner[19], -7);
    EXPECT_EQ(seen.psf.field_x_px, 12);
}

TEST_F(FitJobMessage, one_row_more_than_the_memory_holds_is_refused) {
    const SampleStack stack(1);
    FitJob job = job_of(stack.view, test::typical_psf(PsfModel::GaussianXYNB), 100, {});
    const auto most = [&] {
        std::int64_t rows = 1;
        for (job.rows = 1; is_sound(job, memory_bytes, {}); ++job.rows) rows = job.rows;
        return rows;
    };
    const std::int64_t all = most();
    EXPECT_GT(all, 1000);
    job.rows = all;
    EXPECT_LE(end_of(layout_of(job)), memory_bytes);
    job.at = 256 * 1024;
    EXPECT_FALSE(is_sound(job, memory_bytes, {}));
    job.at = memory_bytes + 256, job.rows = 1;
    EXPECT_FALSE(is_sound(job, memory_bytes, {}));
    job.at = ~std::uint64_t(0) - 255;
    EXPECT_FALSE(is_sound(job, memory_bytes, {}));
}

// Whatever bytes a message contains, a job that counts as sound stays within its memory.
TEST_F(FitJobMessage, no_message_reaches_beyond_the_memory) {
    std::mt19937_64 random(1);
    const SampleStack stack(1);
    int sound = 0;
    for (int k = 0; k < 200000; ++k) {
        FitJob job = job_of(stack.view, test::typical_psf(psf_models()[random() % psf_models().size()]), 100, {});
        if (random() % 2) job.columns |= has_camera, job.camera.has_maps = random() % 2;
        job.camera.width = job.camera.height = 7;
        job.rows = std::int64_t(1 + random() % 3000), job.at = random() % 16 * 256;
        auto* bytes = reinterpret_cast<unsigned char*>(&job);
        for (int change = 0; change < int(random() % 4); ++change) {
            const std::size_t at = random() % sizeof job,
                              count = std::min<std::size_t>(1 + random() % 8, sizeof job - at);
            const unsigned char fill = static_cast<unsigned char>(random() % 3 == 0 ? random()
                                                                  : random() % 2    ? 0xff
                                                                                    : 0);
            std::fill_n(bytes + at, count, fill);
        }
        if (!is_sound(job, memory_bytes, {})) continue;
        ++sound;
        ASSERT_TRUE(is_inside(JobView(job, memory.data() + job.at, {}), job)) << k;
    }
    EXPECT_GT(sound, 10000);
    EXPECT_LT(sound, 200000);
}

}  // namespace glint::warm_worker
