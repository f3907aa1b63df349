// Tests of ROIs: correct pixels, shifted to lie inside the frame.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <numeric>

#include "glint/detect.hpp"
#include "glint/error.hpp"
#include "tests/noise_frames.hpp"

using namespace glint;
using namespace glint::test;

TEST(CutRois, centre_where_they_can_and_shift_at_the_edges) {
    const int width = 20, height = 12;
    Camera camera = mapped(make_camera(1), width, height);
    for (std::size_t k = 0; k < camera.readnoise_e.map.size(); ++k) camera.readnoise_e.map[k] = float(k % 5);
    const CameraView view(camera, width, height);
    std::vector<float> frame(std::size_t(width) * height);
    std::iota(frame.begin(), frame.end(), 0.0f);
    Spots spots;
    spots.x = {10, 0, 19}, spots.y = {6, 0, 11}, spots.score = {9, 9, 9};
    for (int size : {3, 6, 7, 12}) {
        Rois rois = make_rois(view, size);
        cut_rois(frame, view, spots, 4, rois);
        cut_rois(frame, view, spots, 5, rois);
        ASSERT_EQ(rois.count(), 6u);
        EXPECT_EQ(rois.frame, (std::vector<std::uint32_t>{4, 4, 4, 5, 5, 5}));
        for (std::size_t k = 0; k < 6; ++k) {
            EXPECT_EQ(rois.x_start[k] + float(rois.x_corner[k]), float(spots.x[k % 3]));
            EXPECT_EQ(rois.y_start[k] + float(rois.y_corner[k]), float(spots.y[k % 3]));
        }
        EXPECT_EQ(rois.x_corner[1], 0);
        EXPECT_EQ(rois.y_corner[1], 0);
        EXPECT_EQ(rois.x_corner[2], width - size);
        EXPECT_EQ(rois.y_corner[2], height - size);
        EXPECT_EQ(rois.x_corner[0], 10 - size / 2);
        for (std::size_t k = 0; k < rois.pixels.size(); ++k) {
            const std::size_t roi = k / (std::size_t(size) * size), inside = k % (std::size_t(size) * size);
            const std::size_t at =
                (std::size_t(rois.y_corner[roi]) + inside / size) * width + rois.x_corner[roi] + inside % size;
            ASSERT_EQ(rois.pixels[k], frame[at]);
            ASSERT_EQ(rois.variance[k], view.variance_map()[at]);
        }
    }
}

TEST(CutRois, carry_the_camera_and_refuse_sizes_that_cannot_be) {
    const CameraView view(make_camera(9, CameraKind::EMCCD), 10, 8);
    const Rois rois = make_rois(view, 8);
    EXPECT_EQ(rois.size, 8);
    EXPECT_EQ(rois.excess_noise, 2);
    EXPECT_NEAR(rois.variance_scalar, 9, 1e-4);
    EXPECT_TRUE(rois.variance.empty());
    for (int size : {0, 2, 9, 32, -3}) EXPECT_THROW(make_rois(view, size), OptionError) << size;
}
