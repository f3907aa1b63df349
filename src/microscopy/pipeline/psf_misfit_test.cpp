// Misfits from residuals of lone spots, in images simulated with std::erf and std::poisson_distribution.
// SPDX-License-Identifier: MIT
#include "pipeline/psf_misfit.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

namespace glint {
namespace {

constexpr double model_sigma_px = 1.3, pixel_nm = 100, background = 10;
constexpr int spots = 150;

struct Light {
    double x, y, photons, sigma_px;
};
using Image = std::vector<double>;

double share(int i, double at, double sigma) {
    const auto below = [&](double edge) { return std::erf((edge - at) / (std::sqrt(2) * sigma)); };
    return (below(i + 0.5) - below(i - 0.5)) / 2;
}

void add(const Light& light, Image& image) {
    for (int y = 0; y < misfit_edge_px; ++y)
        for (int x = 0; x < misfit_edge_px; ++x)
            image[std::size_t(y * misfit_edge_px + x)] +=
                light.photons * share(x, light.x, light.sigma_px) * share(y, light.y, light.sigma_px);
}

/// Returns residuals of spots with 3,000 photons. `parts` returns the light that each molecule consists of.
std::vector<SpotResidual> residuals(const std::function<std::vector<Light>(const Light&, std::mt19937&)>& parts) {
    std::mt19937 random(7);
    std::uniform_real_distribution<double> within(-0.5, 0.5);
    Psf psf;
    psf.sigma_nm = model_sigma_px * pixel_nm;
    const PsfInDouble model(psf, pixel_nm);
    std::vector<SpotResidual> all;
    for (int k = 0; k < spots; ++k) {
        const Light one{misfit_half_px + within(random), misfit_half_px + within(random), 3000, model_sigma_px};
        Image mean(std::size_t(misfit_edge_px) * misfit_edge_px, background);
        for (const Light& part : parts(one, random)) add(part, mean);
        std::vector<float> counts;
        for (const double mu : mean) counts.push_back(float(std::poisson_distribution<int>(mu)(random)));
        JointPixels pixels({0, 0, misfit_edge_px, misfit_edge_px});
        pixels.add({misfit_edge_px, counts.data(), nullptr, nullptr, nullptr, 0, 1, 1});
        Emitter start;
        start.theta[0] = one.x, start.theta[1] = one.y, start.theta[2] = one.photons, start.theta[3] = background;
        if (auto residual = measure_residual(model, 0, pixels, start, {})) all.push_back(*std::move(residual));
    }
    return all;
}

std::vector<Light> as_it_is(const Light& one, std::mt19937&) { return {one}; }

float greatest(const PsfMisfit& misfit) {
    return *std::max_element(misfit.satellites.begin(), misfit.satellites.end());
}

}  // namespace

TEST(PsfMisfit, of_the_model_itself_is_chance) {
    const std::vector<SpotResidual> exact = residuals(as_it_is);
    ASSERT_EQ(exact.size(), std::size_t(spots));
    double squares = 0;
    for (const SpotResidual& one : exact) squares += one.moments.xx * one.moments.xx / one.moments.xx_variance;
    EXPECT_NEAR(squares / spots, 1, 4 * std::sqrt(2.0 / spots)) << "stated variances are true";
    const PsfMisfit misfit = *misfit_of(exact, true);
    EXPECT_EQ(misfit.width, 0);
    EXPECT_EQ(misfit.scatter, 0);
    // A would-be molecule's photons have a standard error of about 2 % of 3,000. The highest of 361 scatters stays
    // below another such error.
    EXPECT_LT(greatest(misfit), 0.05);
}

TEST(PsfMisfit, of_a_wider_psf_is_its_relative_width) {
    const PsfMisfit misfit = *misfit_of(residuals([](Light one, std::mt19937&) {
                                            one.sigma_px = 1.1 * model_sigma_px;
                                            return std::vector<Light>{one};
                                        }),
                                        true);
    // D = 2 m s^2 to first order. For the whole difference of variances, m = (1.1^2 - 1) / 2 = 0.105.
    EXPECT_NEAR(misfit.width, 0.105, 0.02);
    EXPECT_EQ(misfit.scatter, 0);
}

TEST(PsfMisfit, sees_a_satellite_beyond_the_core) {
    const PsfMisfit misfit = *misfit_of(residuals([](const Light& one, std::mt19937&) {
                                            Light satellite = one;
                                            satellite.x += 4.5, satellite.photons *= 0.06;
                                            return std::vector<Light>{one, satellite};
                                        }),
                                        true);
    EXPECT_GT(misfit.satellites[9], 0.05) << "at 4.5 px";
    EXPECT_LT(misfit.satellites[9], 0.12);
    EXPECT_LT(misfit.satellites[18], 0.05) << "at 9 px there is none";
}

TEST(PsfMisfit, tells_two_widths_from_pairs) {
    const PsfMisfit widths = *misfit_of(residuals([](Light one, std::mt19937& random) {
                                            one.sigma_px = std::bernoulli_distribution(0.5)(random) ? 1.1 : 1.7;
                                            return std::vector<Light>{one};
                                        }),
                                        true);
    // Half of the spots differ from the other half by D = 1.7^2 - 1.1^2 = 1.68 px^2: 0.25 of their widths or more.
    EXPECT_GT(widths.scatter, 0.15);
    EXPECT_GT(widths.width, 0.2);
    const PsfMisfit pairs = *misfit_of(residuals([](Light one, std::mt19937& random) {
                                           if (!std::bernoulli_distribution(0.25)(random))
                                               return std::vector<Light>{one};
                                           std::uniform_real_distribution<double> apart(1, 2.5), turn(0, 6.2832);
                                           const double d = apart(random), angle = turn(random);
                                           Light other = one;
                                           one.photons = other.photons = 1500;
                                           other.x += d * std::cos(angle), other.y += d * std::sin(angle);
                                           return std::vector<Light>{one, other};
                                       }),
                                       true);
    EXPECT_LT(pairs.scatter, 0.05);
    EXPECT_LT(pairs.width, 0.1);
}

}  // namespace glint
