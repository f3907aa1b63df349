// Light beyond the model's is measured in the window, whatever the background and the neighbours' known light.
// SPDX-License-Identifier: MIT
#include "pipeline/lost_light.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace glint {
namespace {

constexpr int edge = 19;
constexpr double sigma_px = 1.3, background = 20;

/// The integral of a Gaussian over a pixel.
double gaussian(double from_centre, double sigma) {
    const double scale = 1 / (std::sqrt(2.0) * sigma);
    return (std::erf((from_centre + 0.5) * scale) - std::erf((from_centre - 0.5) * scale)) / 2;
}

/// Spots with a share of their light in a halo of 2.5 px, which the fitted N lacks.
LostLight measure(double halo, const PsfInDouble& psf) {
    LostLight light(psf);
    std::mt19937 random(11);
    std::uniform_real_distribution<double> within(-0.5, 0.5);
    for (int k = 0; k < 60; ++k) {
        const double x = edge / 2 + within(random), y = edge / 2 + within(random), all = 5000;
        JointPixels pixels(Rectangle{100, 200, edge, edge});
        for (int j = 0; j < edge; ++j)
            for (int i = 0; i < edge; ++i) {
                const double mu = background +
                                  all * (1 - halo) * gaussian(i - x, sigma_px) * gaussian(j - y, sigma_px) +
                                  all * halo * gaussian(i - x, 2.5) * gaussian(j - y, 2.5);
                const std::size_t p = pixels.at(100 + i, 200 + j);
                const double known = 3 + i % 2;
                pixels[JointPlane::data][p] = float(known + std::poisson_distribution<int>(mu)(random));
                pixels[JointPlane::known][p] = float(known);
                pixels[JointPlane::per_photon][p] = 1;
            }
        Emitter spot;
        spot.theta[0] = 100 + x, spot.theta[1] = 200 + y, spot.theta[2] = all * (1 - halo), spot.theta[3] = background;
        light.add(pixels, spot);
    }
    return light;
}

}  // namespace

TEST(LostLight, is_what_the_fitted_photons_lack) {
    Psf model;
    model.sigma_um = sigma_px * 0.1;
    const PsfInDouble psf(model, 0.1);
    for (const double halo : {0.0, 0.1, 0.3}) {
        const LostLight light = measure(halo, psf);
        // The noise of 361 pixels and that of their rim's mean, of 5,000 photons, a median of 60 spots.
        const double one = std::sqrt(edge * edge * background * (1 + edge * edge / 72.0) + 5000) / 5000;
        // Of the share, as of a part of all light; the median absolute deviation of 60 values is known to a sixth.
        const double error = 1.2533 * one * (1 - halo) / std::sqrt(60.0);
        EXPECT_NEAR(light.error(), error, 0.5 * error) << halo;
        EXPECT_NEAR(light.share(), halo, 4 * error) << halo;
    }
    EXPECT_EQ(LostLight(psf).share(), 0);
}

}  // namespace glint
