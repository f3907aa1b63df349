// The default size of a ROI, and the warning if a calibration was measured with another size.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "glint/error.hpp"
#include "glint/localize.hpp"
#include "psf/in_double.hpp"
#include "psf/table_extent.hpp"
#include "tests/expect_error.hpp"

using namespace glint;
using namespace glint::test;

namespace {

/// A measured PSF of Gaussians, whose width in px rises linearly with z.
Psf make_gaussians(double first_px, double last_px, int edge = 33) {
    constexpr int planes = 12;
    std::vector<float> values;
    for (int k = 0; k < planes; ++k)
        for (int j = 0; j < edge; ++j)
            for (int i = 0; i < edge; ++i) {
                const double width = first_px + (last_px - first_px) * k / (planes - 1);
                const double x = i - 0.5 * (edge - 1), y = j - 0.5 * (edge - 1);
                values.push_back(float(std::exp(-(x * x + y * y) / (2 * width * width)) / (6.283185 * width * width)));
            }
    Psf psf;
    psf.model = PsfModel::SplineXYZNB;
    psf.table = std::make_shared<const PsfTable>(PsfTable::Shape{planes, edge, edge, 1}, std::move(values),
                                                 PsfTable::Scale{100, -500, 500, 1});
    return psf;
}

}  // namespace

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

TEST(RoiSize, window_of_a_measured_psf_contains_its_light) {
    const Psf psf = make_gaussians(2, 2);
    for (const int size : {3, 7, 11}) {
        // A B-spline of a Gaussian widens it: its variance is 1/3 larger.
        const double part = std::erf(0.5 * size / std::sqrt(2 * (4 + 1.0 / 3)));
        const LightShare share = find_light_share(*psf.table, size);
        EXPECT_NEAR(share.mean, part * part, 0.01) << size;
        EXPECT_NEAR(share.min, share.mean, 0.01) << size;
    }
    const double mean = find_light_share(*psf.table, 4).mean;
    EXPECT_GT(mean, find_light_share(*psf.table, 3).mean);
    EXPECT_LT(mean, find_light_share(*psf.table, 5).mean);
    const LightShare share = find_light_share(*make_gaussians(1, 4).table, 7);
    EXPECT_LT(share.min, share.mean - 0.1);
}

TEST(RoiSize, window_of_a_measured_psf_stays_within_its_table) {
    const Psf wide = make_gaussians(9, 9, 23);
    ASSERT_EQ(covered_window_px(wide), 20);
    EXPECT_EQ(default_roi_size(wide, 100), 17) << "a pixel less on each side, and odd";
}

TEST(RoiSize, windows_with_little_light_of_a_measured_psf_are_refused) {
    const Psf psf = make_gaussians(2, 4);
    const int wanted = default_roi_size(psf, 100);
    EXPECT_GE(wanted, 11);
    EXPECT_EQ(calibration_warning(psf, wanted, 100), "");
    expect_error<OptionError>([&] { calibration_warning(psf, 3, 100); },
                              {"window of 3 px", "at least 25 %", "`roi_size=", "on average over z"});
    const std::string warning = calibration_warning(psf, 5, 100);
    EXPECT_NE(warning.find("window of 5 px contains"), std::string::npos) << warning;
    EXPECT_NE(warning.find("z may be wrong"), std::string::npos) << warning;
    // No window that can be fitted contains half of this PSF: the default warns, and is not refused.
    const Psf wide = make_gaussians(14, 14, 99);
    const int largest = default_roi_size(wide, 100);
    EXPECT_EQ(largest, max_roi_size);
    if (find_light_share(*wide.table, largest).mean < 0.5) {
        EXPECT_NE(calibration_warning(wide, largest, 100).find("largest"), std::string::npos);
    }
}

TEST(RoiSize, many_rows_at_the_bound_of_z_are_a_warning) {
    const Psf psf = make_gaussians(2, 4);
    const std::string warning = z_bound_warning(psf, 120, 1000);
    for (const char* words : {"120 of 1000 rows (12 %)", "-500 to 500 nm", "status == 0"})
        EXPECT_NE(warning.find(words), std::string::npos) << warning;
    EXPECT_EQ(z_bound_warning(psf, 9, 20), "") << "few rows";
    EXPECT_EQ(z_bound_warning(psf, 40, 1000), "") << "as noise at the ends of the range gives";
    EXPECT_EQ(z_bound_warning({.sigma_nm = 130}, 500, 1000), "") << "no z";
}

TEST(RoiSize, fits_at_the_bound_of_z_have_its_status_and_its_z) {
    const Psf psf = make_gaussians(2, 4);  // -500 to 500 nm
    Fits fits;
    fits.resize(psf.model, 5);
    fits.theta[4] = {-0.5f, 0.5f, 0.5f, 0.49f, 0};  // the last: at another bound, such as that of x
    fits.status = {FitStatus::at_bound, FitStatus::at_bound, FitStatus::converged, FitStatus::at_bound,
                   FitStatus::at_bound};
    EXPECT_EQ(count_at_z_bound(fits, psf), 2);
    fits.resize(PsfModel::GaussianXYNB, 5);
    fits.status.assign(5, FitStatus::at_bound);
    EXPECT_EQ(count_at_z_bound(fits, {.sigma_nm = 130}), 0) << "no z";
}
