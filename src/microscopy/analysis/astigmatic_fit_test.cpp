// Tests of the curve fit: exact without noise, and as precise as theory predicts with noise.
// SPDX-License-Identifier: MIT
#include "analysis/astigmatic_lens.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "simulate/random.hpp"

using namespace glint;

namespace {

CurveInUm lens(double gamma) {
    return {.sx0_um = 0.140,
            .sy0_um = 0.132,
            .gamma_um = gamma,
            .d_um = 0.31,
            .ax = 0.05,
            .bx = 0.03,
            .ay = -0.04,
            .by = 0.02,
            .z_min_um = -0.6,
            .z_max_um = 0.6};
}

WidthsOverZ widths_of(const CurveInUm& curve, int slices, double z_middle, double error, std::uint64_t seed) {
    Random random(seed, Stream::molecule, 0);
    WidthsOverZ widths;
    for (int k = 0; k < slices; ++k) {
        const double z = -0.6 + 1.2 * k / (slices - 1);
        widths.z.push_back(z + z_middle);
        widths.sigma_x.push_back(curve.sigma_x_um(z) + error * random.normal());
        widths.sigma_y.push_back(curve.sigma_y_um(z) + error * random.normal());
    }
    widths.sigma_x_unc.assign(widths.z.size(), std::max(error, 1e-6));
    widths.sigma_y_unc = widths.sigma_x_unc;
    return widths;
}

}  // namespace

TEST(AstigmaticFit, finds_the_curve_exactly_without_noise) {
    for (double gamma : {0.2, -0.205, 0.05})
        for (double middle : {0.0, 0.13, -5.0}) {
            const CurveInUm truth = lens(gamma);
            const AstigmaticFit fit = fit_astigmatic_curve(widths_of(truth, 41, middle, 0, 1));
            EXPECT_NEAR(fit.z_middle_um, middle, 1e-4);
            EXPECT_NEAR(fit.curve.sx0_um, truth.sx0_um, 1e-5);
            EXPECT_NEAR(fit.curve.sy0_um, truth.sy0_um, 1e-5);
            EXPECT_NEAR(fit.curve.gamma_um, gamma, 1e-4);
            EXPECT_NEAR(fit.curve.d_um, truth.d_um, 1e-4);
            EXPECT_NEAR(fit.curve.ax, truth.ax, 1e-3);
            EXPECT_NEAR(fit.curve.by, truth.by, 1e-3);
            EXPECT_LT(fit.rms_residual_um, 1e-6);
            EXPECT_NEAR(fit.curve.z_min_um, -0.6, 1e-4);
            EXPECT_NEAR(fit.curve.z_max_um, 0.6, 1e-4);
        }
}

TEST(AstigmaticFit, residuals_match_the_noise) {
    const double error = 0.004;
    double squares = 0, of_curve = 0;
    const int runs = 40, slices = 41, parameters = 9;
    const CurveInUm truth = lens(0.2);
    for (int k = 0; k < runs; ++k) {
        const AstigmaticFit fit = fit_astigmatic_curve(widths_of(truth, slices, 0, error, 100 + std::uint64_t(k)));
        squares += fit.rms_residual_um * fit.rms_residual_um;
        for (double z = -0.6; z <= 0.6; z += 0.03) {
            const double own = z - fit.z_middle_um;
            of_curve += std::pow(fit.curve.sigma_x_um(own) - truth.sigma_x_um(z), 2) +
                        std::pow(fit.curve.sigma_y_um(own) - truth.sigma_y_um(z), 2);
        }
    }
    // Each parameter removes one degree of freedom from the residuals and adds as much to the error of the curve.
    const double n = 2 * slices, expected = 1 - parameters / n;
    EXPECT_NEAR(squares / runs / (error * error), expected, 4 * std::sqrt(2 / (n * runs)));
    EXPECT_NEAR(of_curve / (runs * 82) / (error * error), parameters / n,
                4 * std::sqrt(2.0 / (parameters * runs)) * parameters / n);
}

// A fourth power of z describes these widths best. Without a bound, the depth would grow without limit, and Bx with its
// fourth power.
TEST(AstigmaticFit, keeps_the_depth_near_that_of_the_foci) {
    WidthsOverZ widths;
    for (int k = 0; k < 41; ++k) {
        const double z = -0.6 + 0.03 * k;
        widths.z.push_back(z);
        widths.sigma_x.push_back(0.14 * std::sqrt(1 + std::pow((z - 0.2) / 0.4, 4)));
        widths.sigma_y.push_back(0.14 * std::sqrt(1 + std::pow((z + 0.2) / 0.4, 4)));
    }
    widths.sigma_x_unc.assign(41, 1e-3), widths.sigma_y_unc = widths.sigma_x_unc;
    const AstigmaticFit fit = fit_astigmatic_curve(widths);
    EXPECT_GT(fit.parabola_depth_um, 0.1);
    EXPECT_LT(fit.parabola_depth_um, 1);
    EXPECT_LE(fit.curve.d_um, 3 * fit.parabola_depth_um * (1 + 1e-9));
    EXPECT_GE(fit.curve.d_um, fit.parabola_depth_um / 3 * (1 - 1e-9));
    EXPECT_LT(fit.rms_residual_um, 0.004);
}
