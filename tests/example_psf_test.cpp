// The PSF model that CONTRIBUTING.md adds as an example, taken from that page by the build, fits spots.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

// A namespace of its own, as an instruction set's; four lanes.
#define GLINT_ISA example
#include "fit/kernel.hpp"
#include "psf_elliptic.hpp"

namespace glint::example {
namespace {

constexpr int size = 11;
constexpr float sx0_px = 1.1f, sy0_px = 1.6f;

double share_of_pixel(int i, double center, double sigma) {
    const auto below = [&](double edge) { return std::erf((edge - center) / (std::sqrt(2.0) * sigma)) / 2; };
    return below(i + 0.5) - below(i - 0.5);
}

/// Four spots without noise, [pixel][lane]: maximum likelihood must find the truth itself.
std::vector<float> spots(const float (&truth)[5][lane_width]) {
    std::vector<float> pixels(size * size * lane_width);
    for (int p = 0; p < size * size; ++p)
        for (int lane = 0; lane < lane_width; ++lane) {
            const double q = truth[4][lane];
            const double ex = share_of_pixel(p % size, truth[0][lane], q * sx0_px);
            const double ey = share_of_pixel(p / size, truth[1][lane], q * sy0_px);
            pixels[p * lane_width + lane] = float(truth[3][lane] + truth[2][lane] * ex * ey);
        }
    return pixels;
}

}  // namespace

TEST(ExamplePsf, of_contributing_md_finds_the_truth) {
    const float truth[5][lane_width] = {
        {5.0f, 4.6f, 5.3f, 5.4f}, {5.0f, 5.4f, 4.7f, 5.2f}, {1000, 2000, 5000, 800},
        {10, 2, 30, 5},           {1.0f, 0.9f, 1.4f, 1.2f},
    };
    const std::vector<float> pixels = spots(truth);
    const GroupPixels group{pixels.data(), nullptr, nullptr, Lane{}, Lane{}, 0, size};
    EllipticXYNBQ psf{};
    psf.psf.sx0_px = sx0_px, psf.psf.sy0_px = sy0_px;
    const KernelOptions options{size, 50, 0.001f, 1.5f, 0, 1};

    GroupFit<EllipticXYNBQ, 0, false> fit(group, psf, options);
    GroupResult<EllipticXYNBQ> result;
    fit.estimate_start();
    fit.run(result);

    EXPECT_TRUE(all(result.converged));
    for (int k = 0; k < 5; ++k)
        for (int lane = 0; lane < lane_width; ++lane)
            EXPECT_NEAR(result.theta[k][lane], truth[k][lane], 0.01f * std::sqrt(result.variance[k][lane]))
                << "parameter " << k << ", spot " << lane;
}

}  // namespace glint::example
