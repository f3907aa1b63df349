// Tests of start positions: fits start at x_start, y_start of the ROI.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "glint/error.hpp"
#include "glint/fit.hpp"
#include "tests/noise_frames.hpp"

using namespace glint;
using namespace glint::test;

namespace {

/// A molecule at the centre and a brighter one near the corner.
Rois crowded_roi() {
    Scene scene(9, 9, 10);
    scene.add_spot(3.8, 4.1, 1.0, 1500);
    scene.add_spot(7.6, 7.7, 1.0, 2500);
    Rois rois;
    rois.size = 9;
    for (double mean : scene.mean) rois.pixels.push_back(float(mean));
    return rois;
}

const Psf psf{PsfModel::GaussianXYNB, 100, {}};

}  // namespace

TEST(StartPosition, decides_which_of_two_molecules_is_fitted) {
    Rois rois = crowded_roi();
    EXPECT_NEAR(fit(rois, psf, 100).theta[0][0], 7.6, 0.4);
    rois.x_start = {4}, rois.y_start = {4};
    EXPECT_NEAR(fit(rois, psf, 100).theta[0][0], 3.8, 0.4);
    rois.x_start = {7}, rois.y_start = {7};
    EXPECT_NEAR(fit(rois, psf, 100).theta[0][0], 7.6, 0.4);
}

TEST(StartPosition, must_be_there_for_every_roi_or_for_none) {
    Rois rois = crowded_roi();
    rois.x_start = {4, 5}, rois.y_start = {4, 5};
    EXPECT_THROW(fit(rois, psf, 100), OptionError);
    rois.x_start = {4}, rois.y_start = {};
    EXPECT_THROW(fit(rois, psf, 100), OptionError);
}
