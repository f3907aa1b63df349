// The default size of a ROI, and the warning where a calibration was measured in another.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "glint/localize.hpp"

using namespace glint;

TEST(RoiSize, holds_the_spot_and_grows_with_it) {
    Psf psf;
    psf.sigma_nm = 130;
    EXPECT_EQ(default_roi_size(psf, 100), 7);
    EXPECT_EQ(default_roi_size(psf, 160), 7);
    EXPECT_EQ(default_roi_size(psf, 65), 11);
    EXPECT_EQ(default_roi_size(psf, 1), 31) << "never beyond what can be fitted";

    psf.model = PsfModel::AstigmaticXYZNB;
    psf.curve = {.sx0_nm = 130, .sy0_nm = 130, .d_nm = 400, .roi_size = 0, .pixel_size_nm = 100};
    EXPECT_EQ(default_roi_size(psf, 100), 7) << "widths that hold in any window";
    EXPECT_EQ(calibration_warning(psf, 9, 100), "");
    psf.curve.roi_size = 14;
    EXPECT_EQ(default_roi_size(psf, 100), 14);
    EXPECT_EQ(default_roi_size(psf, 100.5), 14) << "the same pixels";
    EXPECT_EQ(calibration_warning(psf, 14, 100), "");
    EXPECT_NE(calibration_warning(psf, 9, 100).find("window of 9 px is not the one of 14 px"), std::string::npos);
    psf.curve.roi_size = 15;
    EXPECT_EQ(default_roi_size(psf, 160), 9) << "1500 nm are 9.4 px";
    EXPECT_NE(calibration_warning(psf, 9, 160).find("pixels of 100 nm, the movie has 160 nm"), std::string::npos);
    psf.curve.roi_size = AstigmaticCurve::unknown_roi;
    EXPECT_EQ(default_roi_size(psf, 100), 7);
    EXPECT_NE(calibration_warning(psf, 7, 100).find("write roi_px = 7"), std::string::npos);
}
