// Tests of the usable range: all slices if the whole lens follows the curve, and otherwise only the slices that follow
// it.
// SPDX-License-Identifier: MIT
#include "analysis/astigmatic_lens.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "simulate/random.hpp"

using namespace glint;

namespace {

constexpr CurveInUm lens{
    .sx0_um = 0.14, .sy0_um = 0.132, .gamma_um = 0.2, .d_um = 0.31, .ax = 0.05, .bx = 0.03, .ay = -0.04, .by = 0.02};
constexpr int slices = 101;

/// Slices of 20 nm from -1 to 1 um. Beyond |z| = `end_um`, widths stop growing, as in a window that is too small.
WidthsOverZ widths_until(double end_um, double error, std::uint64_t seed) {
    Random random(seed, Stream::molecule, 0);
    WidthsOverZ widths;
    for (int k = 0; k < slices; ++k) {
        const double z = 0.02 * k - 1, at = std::clamp(z, -end_um, end_um);
        widths.z.push_back(z);
        widths.sigma_x.push_back(lens.sigma_x_um(at) * (1 + error * random.normal()));
        widths.sigma_y.push_back(lens.sigma_y_um(at) * (1 + error * random.normal()));
        widths.sigma_x_unc.push_back(std::max(error, 1e-3) * widths.sigma_x.back());
        widths.sigma_y_unc.push_back(std::max(error, 1e-3) * widths.sigma_y.back());
    }
    return widths;
}

constexpr InFocus in_focus{.first = 25, .sharpest = 50, .last = 75};

}  // namespace

TEST(UsableRange, contains_all_slices_that_follow_the_curve) {
    for (double error : {0.0, 0.01, 0.03})
        for (std::uint64_t seed : {1, 2, 3}) {
            const UsableRange range = find_usable_range(widths_until(2, error, seed), in_focus);
            EXPECT_EQ(range.first, 0u) << error;
            EXPECT_EQ(range.last, std::size_t(slices - 1)) << error;
            EXPECT_EQ(range.first_end, RangeEnd::stack);
            EXPECT_NEAR(range.fit.curve.gamma_um, 0.2, 0.005 + 0.3 * error);
        }
}

TEST(UsableRange, ends_where_widths_leave_the_curve) {
    for (double end_um : {0.5, 0.7})
        for (double error : {0.0, 0.01}) {
            const UsableRange range = find_usable_range(widths_until(end_um, error, 4), in_focus);
            EXPECT_EQ(range.first_end, RangeEnd::misfit);
            EXPECT_EQ(range.last_end, RangeEnd::misfit);
            EXPECT_LE(range.fit.curve.z_min_um, -end_um + 0.03);
            EXPECT_GE(range.fit.curve.z_max_um, end_um - 0.03);
            EXPECT_GE(range.fit.curve.z_min_um, -end_um - 0.2);  // the fit still follows a few slices, within the bound
            EXPECT_LE(range.fit.curve.z_max_um, end_um + 0.2);
            EXPECT_LE(range.max_bias_um, max_z_bias_um * (1 + 3 * error / 0.01));
            // A fit to all slices must have larger residuals, otherwise the test above could not fail.
            const AstigmaticFit whole = fit_astigmatic_curve(widths_until(end_um, error, 4));
            EXPECT_GT(whole.rms_residual_um, 2 * range.fit.rms_residual_um);
        }
}

TEST(UsableRange, ends_where_beads_are_not_detected) {
    std::vector<double> detected(slices, 1.0);
    std::fill_n(detected.begin(), 20, 0.5);
    detected[60] = 0;  // a single slice has no effect
    const UsableRange range = find_usable_range(widths_until(2, 0.01, 5), in_focus, detected);
    EXPECT_NEAR(double(range.first), 20, 1);
    EXPECT_EQ(range.last, std::size_t(slices - 1));
    EXPECT_EQ(range.first_end, RangeEnd::detection);
    EXPECT_EQ(range.last_end, RangeEnd::stack);
}
