// Light that the model lacks is measured around a spot, whatever the background and the known light of neighbours.
// SPDX-License-Identifier: MIT
#include "pipeline/lost_light.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace glint {
namespace {

constexpr int edge = 19;
constexpr double sigma_px = 1.3, background = 20;

/// The integral of a Gaussian over a pixel.
double gaussian(double from_centre, double sigma) {
    const double scale = 1 / (std::sqrt(2.0) * sigma);
    return (std::erf((from_centre + 0.5) * scale) - std::erf((from_centre - 0.5) * scale)) / 2;
}

constexpr int spots = 60;
constexpr double all = 5000, wide_px = 2.5;

struct At {
    double x, y;
};

double molecule(At at, double x, double y, double halo) {
    return all * ((1 - halo) * gaussian(x - at.x, sigma_px) * gaussian(y - at.y, sigma_px) +
                  halo * gaussian(x - at.x, wide_px) * gaussian(y - at.y, wide_px));
}

Emitter fitted(At at, double halo) {
    Emitter spot;
    spot.theta[0] = 100 + at.x, spot.theta[1] = 200 + at.y, spot.theta[2] = all * (1 - halo),
    spot.theta[3] = background;
    return spot;
}

/// Measures spots with a share of their light in a halo, which the fitted N lacks. Adds `beside` equally bright
/// neighbours. Their model light is known, and the pixels within three widths of them are left out. The measurement
/// gets the neighbours only if the last argument is true.
LostLight::Estimate measure(double halo, int beside = 0, bool tells = true) {
    Psf model;
    model.sigma_nm = sigma_px * 100;
    const PsfInDouble psf(model, 100);
    LostLight light(psf);
    std::mt19937 random(11);
    std::uniform_real_distribution<double> within(-0.5, 0.5), any(0, 1);
    for (int k = 0; k < spots; ++k) {
        const At spot{edge / 2 + within(random), edge / 2 + within(random)};
        std::vector<At> others;
        std::vector<Emitter> told;
        for (int n = 0; n < beside; ++n) {
            const double r = 10 + 3 * any(random), angle = 6.2832 * any(random);
            others.push_back({spot.x + r * std::cos(angle), spot.y + r * std::sin(angle)});
            if (tells) told.push_back(fitted(others.back(), halo));
        }
        JointPixels pixels(Rectangle{100, 200, edge, edge});
        for (int j = 0; j < edge; ++j)
            for (int i = 0; i < edge; ++i) {
                double mu = background + molecule(spot, i, j, halo), known = 3 + i % 2;
                bool is_left_out = false;
                for (const At& other : others) {
                    mu += molecule(other, i, j, halo) - (1 - halo) * molecule(other, i, j, 0);
                    known += (1 - halo) * molecule(other, i, j, 0);
                    is_left_out |= std::hypot(i - other.x, j - other.y) < 3 * sigma_px;
                }
                const std::size_t p = pixels.at(100 + i, 200 + j);
                pixels[JointPlane::data][p] = float(known + std::poisson_distribution<int>(std::max(mu, 0.0))(random));
                pixels[JointPlane::known][p] = float(known);
                pixels[JointPlane::per_photon][p] = is_left_out ? 0 : 1;
            }
        light.add(pixels, fitted(spot, halo), told);
    }
    return light.measure();
}

/// Returns the part of the halo within the aperture of 0.65 half windows, as a share of all light measured.
double seen_of(double halo) {
    const double r = 0.65 * edge / 2;
    const double seen = halo * (1 - std::exp(-r * r / (2 * wide_px * wide_px))) / (1 - halo);
    return seen / (1 + seen);
}

}  // namespace

TEST(LostLight, is_what_the_fitted_photons_lack) {
    for (const double halo : {0.0, 0.1, 0.3}) {
        const LostLight::Estimate lost = measure(halo);
        // Noise of the aperture's pixels and of the sky's mean, for 5,000 photons and the median of 60 spots.
        const double half = edge / 2.0, aperture = M_PI * std::pow(0.65 * half, 2),
                     sky = edge * edge - M_PI * std::pow(0.85 * half, 2);
        const double one = std::sqrt(aperture * background * (1 + aperture / sky) + all) / all;
        // Scaled because the share is relative to all light. The median absolute deviation of 60 values is known to a
        // sixth.
        const double error = 1.2533 * one * (1 - halo) / std::sqrt(double(spots));
        EXPECT_NEAR(lost.error, error, 0.5 * error) << halo;
        EXPECT_NEAR(lost.share, seen_of(halo), 4 * error) << halo;
    }
    Psf model;
    model.sigma_nm = sigma_px * 100;
    const PsfInDouble psf(model, 100);
    EXPECT_EQ(LostLight(psf).measure().share, 0);
}

TEST(LostLight, is_the_same_beside_others_with_such_tails) {
    const double halo = 0.2;
    const LostLight::Estimate told = measure(halo, 4), untold = measure(halo, 4, false);
    EXPECT_NEAR(told.share, seen_of(halo), 4 * told.error);
    EXPECT_LT(untold.share, told.share - 4 * untold.error) << "their tails pass for the sky";
}

}  // namespace glint
