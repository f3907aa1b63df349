// The misfit in crowded frames, measured in simulated movies.
// SPDX-License-Identifier: MIT
#include "pipeline/crowd_misfit.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>

#include "pipeline/lone_spots.hpp"
#include "tests/drawn_movie.hpp"

namespace glint {
namespace {

using namespace test;

constexpr double pixel_nm = 100, sigma_nm = 130;
constexpr int edge_px = 96, frames = 10;

/// How the light of simulated molecules differs from the model.
struct Light {
    double sigma_nm = 130;
    double lobe = 0;    ///< the share of its photons in a second spot, 4 px to the right
    double bright = 0;  ///< the share of molecules with eight times the photons
};

/// Returns a movie of randomly placed molecules with about 2,000 photons, on a background of 20 photons per pixel.
std::unique_ptr<Movie> crowd_movie(double density_per_px, const Light& light, unsigned seed = 1) {
    Psf psf;
    psf.sigma_nm = light.sigma_nm;
    const PsfInDouble in_double(psf, pixel_nm);
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> place(-6, edge_px + 5);
    std::gamma_distribution<double> photons(4, 500);
    return drawn_movie(frames, edge_px, random, [&](int) {
        std::vector<double> mu(std::size_t(edge_px) * edge_px, 20);
        const int molecules = int(density_per_px * std::pow(edge_px + 11, 2));
        for (int k = 0; k < molecules; ++k) {
            const double x = place(random), y = place(random);
            const double n = photons(random) * (std::bernoulli_distribution(light.bright)(random) ? 8 : 1);
            const double theta[4] = {x, y, n * (1 - light.lobe), 0}, lobe[4] = {x + 4, y, n * light.lobe, 0};
            in_double.add_photons(theta, 0, 0, edge_px, edge_px, mu.data());
            if (light.lobe > 0) in_double.add_photons(lobe, 0, 0, edge_px, edge_px, mu.data());
        }
        return mu;
    });
}

LoneSpots learnt_from(double density_per_px, const Light& light) {
    return prepare_job(*crowd_movie(density_per_px, light), drawn_camera(), drawn_options()).lone;
}

}  // namespace

TEST(CrowdMisfit, is_the_least_where_the_model_is_right) {
    for (const double density_per_px : {0.03, 0.05, 0.1}) {
        const LoneSpots learnt = learnt_from(density_per_px, {});
        EXPECT_GT(learnt.crowd_molecules, 0) << density_per_px;
        EXPECT_LE(learnt.psf_misfit, 0.025) << density_per_px;
        EXPECT_EQ(*std::max_element(learnt.satellites.begin(), learnt.satellites.end()), 0) << density_per_px;
        EXPECT_EQ(width_advice(learnt, drawn_options().psf), "") << density_per_px;
        EXPECT_EQ(learnt.lost_light, 0) << density_per_px;
    }
}

TEST(CrowdMisfit, says_that_molecules_are_much_wider) {
    const LoneSpots learnt = learnt_from(0.03, {.sigma_nm = 1.4 * sigma_nm});
    EXPECT_GT(learnt.psf_misfit, 0.12) << "more than unresolved pairs make";
    EXPECT_NE(width_advice(learnt, drawn_options().psf).find("more than the 130 nm used"), std::string::npos);
}

TEST(CrowdMisfit, finds_the_place_and_the_photons_of_a_lobe) {
    const LoneSpots learnt = learnt_from(0.03, {.lobe = 0.12});
    ASSERT_GT(learnt.crowd_molecules, 0);
    const auto most = std::max_element(learnt.satellites.begin(), learnt.satellites.end());
    EXPECT_NEAR(double(most - learnt.satellites.begin()) * double(satellite_step_px), 4, 1);
    EXPECT_GT(*most, 0.5f * 0.12f / 0.88f);
    EXPECT_LT(*most, 2 * 0.12f / 0.88f);
    EXPECT_EQ(learnt.satellites[2], 0) << "at 1 px nothing is told apart";
    EXPECT_EQ(learnt.satellites[20], 0) << "at 10 px there is none";
}

// Dim molecules beside bright ones leave light around them that could be mistaken for light of the PSF.
TEST(CrowdMisfit, does_not_mistake_dim_molecules_for_parts_of_bright_ones) {
    for (const double density_per_px : {0.006, 0.01, 0.018}) {
        const LoneSpots learnt = learnt_from(density_per_px, {.bright = 0.2});
        EXPECT_EQ(*std::max_element(learnt.satellites.begin(), learnt.satellites.end()), 0) << density_per_px;
        EXPECT_LE(learnt.psf_misfit, 0.05) << density_per_px;
    }
}

TEST(CrowdMisfit, keeps_lobes_from_being_molecules) {
    const auto movie = crowd_movie(0.02, {.lobe = 0.12}, 2);
    const auto rows = [&](double misfit) {
        LocalizeOptions with = drawn_options();
        with.fit.psf_misfit = misfit;
        return double(localize_frames(*movie, drawn_camera(), with).size());
    };
    const double molecules = 0.02 * frames * edge_px * edge_px;
    EXPECT_GT(rows(min_misfit), 1.2 * molecules) << "many have a false one beside them";
    EXPECT_LT(rows(learn_misfit), 1.05 * molecules);
}

}  // namespace glint
