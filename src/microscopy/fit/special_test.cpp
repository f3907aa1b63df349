// Tests of the kernel's special functions against the standard library and Boost.
// SPDX-License-Identifier: MIT
#define GLINT_ISA special_test
#define GLINT_ISA_sse2 1
#include "psf/special.hpp"

#include <gtest/gtest.h>

#include <boost/math/special_functions/gamma.hpp>
#include <cmath>

using namespace glint::special_test;

namespace {

float first(Lane lane) { return lane[0]; }

}  // namespace

TEST(Special, powers_of_2_are_right_to_3e_7) {
    for (double x = 0; x > -116; x -= 0.0137)
        EXPECT_NEAR(first(exp2_negative(splat(float(x)))) / std::exp2(double(float(x))), 1, 3e-7) << x;
    EXPECT_GE(first(exp2_negative(splat(-1e30f))), 0.0f);
    EXPECT_LT(first(exp2_negative(splat(-1e30f))), 1e-37f);
}

TEST(Special, log1p_keeps_small_arguments) {
    for (double q :
         {-0.99999, -0.9, -0.5, -0.29, -0.1, -1e-3, -1e-6, 1e-8, 1e-6, 1e-3, 0.1, 0.41, 0.42, 1.0, 30.0, 1e6}) {
        const double expected = std::log1p(double(float(q)));
        EXPECT_NEAR(first(log1p(splat(float(q)))), expected, 2e-7 * std::abs(expected)) << q;
    }
}

TEST(Special, half_erf_is_right_to_single_precision) {
    for (double u = -6; u < 6; u += 0.0173) {
        Lane half, gauss;
        half_erf(splat(float(u * std::sqrt(std::log2(std::exp(1.0))))), half, gauss);
        EXPECT_NEAR(first(half), std::erf(double(float(u))) / 2, 2e-7) << u;
        EXPECT_NEAR(first(gauss), std::exp(-u * u), 1e-6) << u;
    }
}

// The bound for two terms of the expansion: the third coefficient is below 0.004 (DLMF 8.12.9), divided by a^2.
TEST(Special, upper_gamma_agrees_with_boost) {
    for (double a : {1.0, 2.0, 5.0, 15.0, 22.5, 60.0, 480.0})
        for (double ratio = 0.01; ratio < 6; ratio *= 1.07) {
            const double expected = boost::math::gamma_q(a, a * ratio);
            EXPECT_NEAR(first(upper_gamma(splat(float(a)), splat(float(a * ratio)))), expected,
                        0.004 / (a * a) + 3e-6 * std::sqrt(a))
                << "a " << a << " x " << a * ratio;
        }
}
