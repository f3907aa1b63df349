// Tests of the optics behind a measured PSF, and of the PSF that a movie's lone spots refine. An independent
// simulation judges both: tests/judge/test_psf_in_situ.py.
// SPDX-License-Identifier: MIT
#include "glint/refine_psf.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "analysis/lens/lens_optics.hpp"
#include "glint/error.hpp"
#include "glint/fit.hpp"
#include "glint/pupil.hpp"
#include "psf/in_double.hpp"
#include "tests/drawn_movie.hpp"
#include "tests/expect_error.hpp"

namespace glint {
namespace {

using namespace test;

constexpr double lens_na = 1.4, lens_nm = 670, lens_px_nm = 100;
constexpr int spots_edge = 128, spots_apart = 32, spots_frames = 32;  // 16 spots in a frame

Pupil astigmatic_pupil(double spherical_rad) {
    Pupil pupil{.na = lens_na, .wavelength_nm = lens_nm};
    pupil.zernike = {{6, 0.8}, {8, 0.1}};
    if (spherical_rad != 0) pupil.zernike.push_back({11, spherical_rad});
    return pupil;
}

/// A table with the conventions of a PSF that was measured in a window of 25 px.
std::shared_ptr<const PsfTable> bead_table() {
    static std::shared_ptr<const PsfTable> kept;
    if (kept) return kept;
    PupilGrid grid;
    grid.pixel_size_nm = lens_px_nm, grid.z_min_nm = -700, grid.z_max_nm = 700, grid.moving = PupilZ::stage;
    grid.window_px = 25, grid.samples_per_px = 1;
    return kept = compute_psf(astigmatic_pupil(0), grid).psf.table;
}

struct LoneMolecules {
    std::unique_ptr<Movie> movie;
};

/// Lone molecules at z from -400 to 400 nm, whose spherical aberration is `at_0` + `per_um` z.
LoneMolecules lone_molecules(double at_0_rad, double per_um_rad, int frames = spots_frames) {
    constexpr int depths = 9, half = spots_apart / 2;
    std::vector<PsfInDouble> psfs;
    for (int k = 0; k < depths; ++k) {
        const double z_nm = -400 + 100 * k;
        PupilGrid grid;
        grid.pixel_size_nm = lens_px_nm, grid.z_min_nm = -500, grid.z_max_nm = 500, grid.window_px = 25;
        psfs.emplace_back(compute_psf(astigmatic_pupil(at_0_rad + per_um_rad * z_nm * 1e-3), grid).psf, lens_px_nm);
    }
    std::mt19937 random(5);
    std::uniform_real_distribution<double> within(-3, 3), photons(3000, 6000);
    std::uniform_int_distribution<int> depth(0, depths - 1);
    LoneMolecules to;
    to.movie = drawn_movie(frames, spots_edge, random, [&](int) {
        std::vector<double> mu(std::size_t(spots_edge) * spots_edge, 10);
        for (int y = half; y < spots_edge; y += spots_apart)
            for (int x = half; x < spots_edge; x += spots_apart) {
                const int k = depth(random);
                const double theta[] = {half + within(random), half + within(random), photons(random), 0,
                                        (-400 + 100 * k) * 1e-3};
                std::vector<double> spot(std::size_t(spots_apart) * spots_apart);
                psfs[std::size_t(k)].add_photons(theta, 0, 0, spots_apart, spots_apart, spot.data());
                for (int j = 0; j < spots_apart; ++j)
                    for (int i = 0; i < spots_apart; ++i)
                        mu[std::size_t((y - half + j) * spots_edge + x - half + i)] +=
                            spot[std::size_t(j * spots_apart + i)];
            }
        return mu;
    });
    return to;
}

const RefinePsfOptions lens_options{.na = lens_na, .wavelength_nm = lens_nm};

double find_value(const RefinedPsf& found, const std::string& name) {
    for (const SampleAberration& one : found.aberrations)
        if (one.name == name) return one.value;
    ADD_FAILURE() << name;
    return 0;
}

}  // namespace

TEST(LensOptics, finds_the_pupil_of_a_computed_psf) {
    const lens::FoundOptics found =
        lens::find_optics(*bead_table(), {.na = lens_na, .wavelength_nm = lens_nm}, nullptr);
    // The table lacks the light outside of 25 px; the rest is exact.
    EXPECT_LT(found.unexplained, 0.02);
    EXPECT_NEAR(found.optics.z_factor, 1, 0.01);
    EXPECT_NEAR(found.optics.focus_nm, 0, 5);
    for (const ZernikeTerm& term : found.optics.pupil.zernike)
        EXPECT_NEAR(term.rad_rms, term.noll == 6 ? 0.8 : term.noll == 8 ? 0.1 : 0, 0.02) << term.noll;
}

TEST(LensOptics, stops_when_requested) {
    const StopFlag stop{true};
    expect_error<Cancelled>([&] { lens::find_optics(*bead_table(), {.na = lens_na, .wavelength_nm = lens_nm}, &stop); },
                            {"stopped"});
}

TEST(RefinePsf, finds_spherical_aberration_that_grows_with_z) {
    const LoneMolecules molecules = lone_molecules(0.5, 0.5);
    const RefinedPsf found = refine_psf(*molecules.movie, drawn_camera(), *bead_table(), lens_options);
    EXPECT_TRUE(found.is_better);
    // The difference of tables is exact for small changes of a pupil that describes the beads' PSF, which is cut off.
    EXPECT_NEAR(find_value(found, "spherical"), 0.5, 0.05);
    EXPECT_NEAR(find_value(found, "spherical growth"), 0.5, 0.1);
    for (const char* name : {"astigmatism", "astigmatism_45", "coma_x", "coma_y"})
        EXPECT_NEAR(find_value(found, name), 0, 0.05) << name;
    EXPECT_GT(found.refined.good_p, found.beads.good_p + 0.3);
    EXPECT_LT(found.refined.deviance - 1, 0.25 * (found.beads.deviance - 1));
}

TEST(RefinePsf, keeps_the_psf_that_is_right) {
    const auto beads = bead_table();
    const LoneMolecules molecules = lone_molecules(0, 0);
    const RefinedPsf found = refine_psf(*molecules.movie, drawn_camera(), *beads, lens_options);
    EXPECT_FALSE(found.is_better);
    EXPECT_EQ(found.table->hash(), beads->hash());
    ASSERT_EQ(found.warnings.size(), 1u);
    EXPECT_NE(found.warnings[0].find("The PSF of the beads is kept"), std::string::npos);
}

TEST(RefinePsf, refuses_what_it_cannot_refine) {
    const auto beads = bead_table();
    const LoneMolecules few = lone_molecules(0, 0, 4);
    const auto refuse = [&](const PsfTable& table, const RefinePsfOptions& options, const char* message) {
        SCOPED_TRACE(message);
        expect_error<Error>([&] { refine_psf(*few.movie, drawn_camera(), table, options); }, {message});
    };
    refuse(*beads, lens_options, "at least 300 are needed");
    refuse(*beads, {.na = 1.4, .wavelength_nm = 67}, "a wavelength in nm of 67");
    refuse(*beads, {.na = 0, .wavelength_nm = 670}, "a numerical aperture");
    refuse(*beads, {.na = 1.55, .wavelength_nm = 670}, "not below the immersion index");
    refuse(*beads, {.na = 1.4, .wavelength_nm = 670, .sample_index = 1.33}, "not below the sample index");
    refuse(*beads, {.na = 1.4, .wavelength_nm = 670, .pixel_size_nm = 90}, "pixels of 90 nm");
    refuse(*beads, {.na = 1.4, .wavelength_nm = 670, .frames = {3, 9}}, "frames 3:9");
    refuse({{1, 20, 20, 1}, std::vector<float>(400, 0.01f), {100, 0, 0, 1}}, lens_options, "without z");
    const auto& values = beads->values();
    std::vector<float> twice(values.begin(), values.end());
    twice.insert(twice.end(), values.begin(), values.end());
    refuse({beads->shape(), twice, beads->scale(), {2, 1, 0, 0, 64}}, lens_options, "2 x 1 cells");
    // Two lobes far apart are no image of a pupil with low aberrations.
    std::vector<float> lobes(8 * 23 * 23);
    for (int z = 0; z < 8; ++z)
        lobes[std::size_t((z * 23 + 11) * 23 + 4)] = lobes[std::size_t((z * 23 + 11) * 23 + 18)] = 1;
    refuse({{8, 23, 23, 1}, lobes, {100, -250, 250, 1}}, lens_options, "unexplained");
}

}  // namespace glint
