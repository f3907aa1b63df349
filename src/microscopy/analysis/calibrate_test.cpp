// Tests of the calibration: it recovers a simulated lens, gives correct z, and refuses unsuitable stacks.
// SPDX-License-Identifier: MIT
#include "glint/calibrate.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "glint/detect.hpp"
#include "glint/error.hpp"
#include "glint/fit.hpp"
#include "glint/movie_io.hpp"
#include "simulate/random.hpp"
#include "tests/expect_error.hpp"

using namespace glint;

namespace {

constexpr double pixel_nm = 100, step_nm = 40;
constexpr int slices = 27, size = 64;
constexpr double offset = 100;

struct Stack {
    AstigmaticCurve curve;
    double angle = 0, photons = 20000, z_middle_nm = 0;
    double lobes_px = 0;  // distance between two round lobes, which rotate with z
    std::vector<std::pair<double, double>> beads;
};

Stack stack_of(double gamma) {
    Stack stack;
    stack.curve = {
        .sx0_nm = 140, .sy0_nm = 132, .gamma_nm = gamma, .d_nm = 310, .ax = 0.05, .bx = 0.03, .ay = -0.04, .by = 0.02};
    for (int k = 0; k < 4; ++k) stack.beads.emplace_back(15.2 + 31 * (k % 2) + 0.3 * k, 15.4 + 31 * (k / 2) - 0.2 * k);
    return stack;
}

double z_of(int slice) { return step_nm * (slice - 0.5 * (slices - 1)); }

/// Poisson counts of Gaussians, integrated with 3x3 points per pixel because tilted Gaussians do not separate.
std::unique_ptr<Movie> simulate(const Stack& stack, std::uint64_t seed) {
    FrameBlock block;
    block.count = slices, block.width = block.height = size;
    block.bytes.resize(block.frame_bytes() * slices);
    Random random(seed, Stream::frame_noise, 0);
    const double c = std::cos(stack.angle), s = std::sin(stack.angle);
    for (int k = 0; k < slices; ++k) {
        std::vector<double> mean(size * size, 5.0);
        const double z = z_of(k) - stack.z_middle_nm;
        const bool helix = stack.lobes_px > 0;
        const double sx = helix ? 1.4 : stack.curve.sigma_x_nm(z) / pixel_nm,
                     sy = helix ? 1.4 : stack.curve.sigma_y_nm(z) / pixel_nm;
        const double height = stack.photons / (2 * M_PI * sx * sy * 9) / (helix ? 2 : 1), turn = 0.0025 * z;
        std::vector<std::pair<double, double>> spots;
        for (const auto& [x, y] : stack.beads)
            for (double side : {-0.5, 0.5})
                if (helix || side > 0)
                    spots.emplace_back(x + side * stack.lobes_px * std::cos(turn),
                                       y + side * stack.lobes_px * std::sin(turn));
        for (const auto& [x, y] : spots)
            for (int j = std::max(0, int(y) - 15); j < std::min(size, int(y) + 16); ++j)
                for (int i = std::max(0, int(x) - 15); i < std::min(size, int(x) + 16); ++i)
                    for (int sub = 0; sub < 9; ++sub) {
                        const double dx = i - x + (sub % 3 - 1) / 3.0, dy = j - y + (sub / 3 - 1) / 3.0;
                        const double u = (c * dx + s * dy) / sx, v = (c * dy - s * dx) / sy;
                        mean[std::size_t(j) * size + i] += height * std::exp(-0.5 * (u * u + v * v));
                    }
        auto* counts = reinterpret_cast<std::uint16_t*>(block.bytes.data() + k * block.frame_bytes());
        for (double m : mean) *counts++ = std::uint16_t(std::min(65535.0, offset + random.poisson(m)));
    }
    return memory_movie(std::move(block), "beads");
}

Camera camera() {
    Camera camera;
    camera.offset_adu.scalar = offset;
    return camera;
}

CalibrateOptions options() { return {.pixel_size_nm = pixel_nm, .z_step_nm = step_nm}; }

std::string refusal(Movie& movie, const Camera& from = camera(), CalibrateOptions with = options()) {
    try {
        calibrate_astigmatism(movie, from, with);
    } catch (const InputError& error) {
        return error.what();
    }
    return "";
}

}  // namespace

TEST(Calibrate, recovers_the_lens_from_beads) {
    for (double gamma : {200.0, -205.0})
        for (double middle : {0.0, 60.0}) {
            Stack stack = stack_of(gamma);
            stack.z_middle_nm = middle;
            const Calibration got = calibrate_astigmatism(*simulate(stack, 1), camera(), options());
            EXPECT_EQ(got.beads, 4);
            ASSERT_EQ(got.z_nm.size(), std::size_t(slices));
            EXPECT_NEAR(got.z_middle_nm, middle, 6);
            EXPECT_NEAR(got.curve.gamma_nm, gamma, 6);
            EXPECT_NEAR(got.curve.sx0_nm, 140, 1);
            EXPECT_NEAR(got.curve.sy0_nm, 132, 1);
            EXPECT_NEAR(got.curve.z_min_nm, z_of(0) - middle, 10);
            // The residuals match the errors of the medians without the half per cent for the model.
            double chi_squared = 0;
            const auto pull = [](double width, double curve, double error) {
                return std::pow((width - curve) / error, 2) / (1 - std::pow(0.005 * width / error, 2));
            };
            for (std::size_t k = 0; k < got.z_nm.size(); ++k) {
                const double x = got.curve.sigma_x_nm(got.z_nm[k]), y = got.curve.sigma_y_nm(got.z_nm[k]);
                chi_squared += pull(got.sigma_x_nm[k], x, got.sigma_x_unc_nm[k]);
                chi_squared += pull(got.sigma_y_nm[k], y, got.sigma_y_unc_nm[k]);
                EXPECT_NEAR(x, stack.curve.sigma_x_nm(z_of(int(k)) - middle), 2);
                EXPECT_NEAR(y, stack.curve.sigma_y_nm(z_of(int(k)) - middle), 2);
            }
            // The calibration uses the larger of the fits' errors and the scatter, so its errors are slightly too
            // large.
            EXPECT_LT(chi_squared / (2 * slices - 9), 1 + 4 * std::sqrt(2.0 / (2 * slices - 9)));
            EXPECT_GT(chi_squared / (2 * slices - 9), 0.4);
        }
}

TEST(Calibrate, gives_z_back_within_its_own_error) {
    Stack stack = stack_of(-205);
    const Calibration calibration = calibrate_astigmatism(*simulate(stack, 2), camera(), options());
    stack.photons = 3000;
    const auto movie = simulate(stack, 3);
    const CameraView view(camera(), size, size);
    Rois rois = make_rois(view, 13);
    Spots beads;
    for (const auto& [x, y] : stack.beads) {
        beads.x.push_back(int(std::lround(x)));
        beads.y.push_back(int(std::lround(y)));
    }
    FrameBlock block;
    std::vector<float> frame(size * size);
    for (int k = 3; k < slices - 3; ++k) {
        movie->read(k, 1, block);
        view.to_photoelectrons(block.frame(0), block.type, frame);
        cut_rois(frame, view, beads, std::uint32_t(k), rois);
    }
    const Fits fits = fit(rois, {PsfModel::AstigmaticXYZNB, 0, calibration.curve}, pixel_nm);
    double squares = 0, sum = 0, n = 0;
    for (std::size_t k = 0; k < fits.count(); ++k) {
        if (fits.status[k] != FitStatus::converged) continue;
        const double truth = z_of(int(rois.frame[k])) - calibration.z_middle_nm;
        const double pull = (1000 * fits.theta[4][k] - truth) / (1000 * fits.crlb[4][k]);
        if (std::abs(pull) > 6) continue;
        squares += pull * pull, sum += pull, ++n;
    }
    EXPECT_GT(n, 0.97 * double(fits.count()));
    EXPECT_NEAR(std::sqrt(squares / n), 1, 0.12);  // the calibration adds about a third of a fit's error
    EXPECT_NEAR(sum / n, 0, 0.4);
}

TEST(Calibrate, follows_the_direction_of_the_stage) {
    CalibrateOptions reversed = options();
    reversed.z_step_nm *= -1;
    const Stack stack = stack_of(200);
    const Calibration up = calibrate_astigmatism(*simulate(stack, 4), camera(), options());
    const Calibration down = calibrate_astigmatism(*simulate(stack, 4), camera(), reversed);
    EXPECT_NEAR(up.curve.gamma_nm, 200, 6);
    EXPECT_NEAR(down.curve.gamma_nm, -200, 6);
    EXPECT_LT(down.curve.z_min_nm, down.curve.z_max_nm);
}

TEST(Calibrate, refuses_a_tilted_lens_and_names_the_angle) {
    for (double degrees : {45.0, -30.0, 20.0}) {
        Stack stack = stack_of(200);
        stack.angle = degrees * M_PI / 180;
        const std::string why = refusal(*simulate(stack, 5));
        const auto at = why.find("rotated by ");
        ASSERT_NE(at, std::string::npos) << why;
        const double named = std::atof(why.c_str() + at + std::strlen("rotated by "));
        EXPECT_NEAR(std::remainder(named - degrees, 90), 0, 2) << why;
    }
    Stack nearly = stack_of(200);
    nearly.angle = 5 * M_PI / 180;
    EXPECT_EQ(refusal(*simulate(nearly, 6)), "");
}

// Both widths have their minimum at the same z, whether they are equal or not.
TEST(Calibrate, refuses_a_lens_without_astigmatism) {
    for (double sy0 : {140.0, 155.0}) {
        Stack round = stack_of(0);
        round.curve.ax = round.curve.bx = round.curve.ay = round.curve.by = 0;
        round.curve.sx0_nm = 140, round.curve.sy0_nm = sy0;
        const std::string why = refusal(*simulate(round, 7));
        EXPECT_NE(why.find("no astigmatism: both widths are smallest at the same z"), std::string::npos) << why;
    }
    EXPECT_EQ(refusal(*simulate(stack_of(80), 7)), "");  // foci half a depth of focus apart
}

// Lobes 3 px apart are one spot. Lobes 7 px apart are two spots, so no bead is isolated.
TEST(Calibrate, refuses_a_double_helix_and_names_it) {
    for (double distance : {3.5, 7.0}) {
        Stack helix = stack_of(200);
        helix.lobes_px = distance;
        const std::string why = refusal(*simulate(helix, 12));
        EXPECT_NE(why.find("this is a double helix (two lobes)"), std::string::npos) << why;
    }
}

TEST(Calibrate, reports_why_the_range_is_smaller_than_the_stack) {
    Calibration whole = calibrate_astigmatism(*simulate(stack_of(200), 13), camera(), options());
    EXPECT_EQ(range_note(whole), "");
    EXPECT_EQ(misfit_warning(whole), "");
    EXPECT_LT(whole.max_z_bias_nm, 5);
    EXPECT_NEAR(whole.stack_z_min_nm, -520 - whole.z_middle_nm, 1e-6);
    EXPECT_NEAR(whole.stack_z_max_nm, 520 - whole.z_middle_nm, 1e-6);
    whole.range_below = RangeEnd::misfit;
    EXPECT_NE(range_note(whole).find("below the range, the misfit of the curve shifts z by more than 20 nm"),
              std::string::npos);
    whole.range_above = RangeEnd::misfit;
    EXPECT_NE(range_note(whole).find("beyond the range, the misfit"), std::string::npos);
    whole.max_z_bias_nm = 40;
    EXPECT_NE(misfit_warning(whole).find("shifts z by up to 40 nm"), std::string::npos);
}

TEST(Calibrate, refuses_widths_that_do_not_cross) {
    Stack one_side = stack_of(200);
    one_side.z_middle_nm = 750;
    EXPECT_NE(refusal(*simulate(one_side, 8)).find("do not cross"), std::string::npos);
}

TEST(Calibrate, refuses_stacks_without_usable_beads) {
    Stack empty = stack_of(200);
    empty.beads.clear();
    EXPECT_NE(refusal(*simulate(empty, 9)).find("no isolated bead: 0 spots"), std::string::npos);
    Stack crowded = stack_of(200);
    crowded.beads = {{30, 30}, {36, 34}, {2, 50}};
    const std::string why = refusal(*simulate(crowded, 10));
    EXPECT_NE(why.find("1 of them nearer than"), std::string::npos) << why;
    EXPECT_NE(why.find("2 nearer"), std::string::npos) << why;
}

TEST(Calibrate, refuses_impossible_options_and_stacks) {
    const auto movie = simulate(stack_of(200), 11);
    CalibrateOptions wrong = options();
    wrong.z_step_nm = 0;
    EXPECT_THROW(calibrate_astigmatism(*movie, camera(), wrong), OptionError);
    wrong = options(), wrong.pixel_size_nm = 0;
    EXPECT_THROW(calibrate_astigmatism(*movie, camera(), wrong), OptionError);
    // As callers of earlier versions, which expected micrometres.
    wrong = options(), wrong.pixel_size_nm = 0.1;
    test::expect_error<OptionError>([&] { calibrate_astigmatism(*movie, camera(), wrong); },
                                    {"0.1 nm", "nanometres, 1 to 100000", "`pixel_size=100nm`"});
    wrong = options(), wrong.sigma_nm = 0.13;
    test::expect_error<OptionError>([&] { calibrate_astigmatism(*movie, camera(), wrong); },
                                    {"0.13 nm", "nanometres, at least 1", "`sigma=130nm`"});
    wrong = options(), wrong.roi_size = 65;
    EXPECT_THROW(calibrate_astigmatism(*movie, camera(), wrong), OptionError);
    FrameBlock block;
    block.count = 2, block.width = block.height = 20;
    block.bytes.resize(block.frame_bytes() * 2);
    EXPECT_NE(refusal(*memory_movie(std::move(block), "two slices")).find("2 slices are too few"), std::string::npos);
}

// Published calibrations have depths of 0.3 to 0.5 um at widths of 0.13 to 0.15 um. A tenfold error of the step changes
// the depth tenfold.
TEST(Calibrate, warns_of_an_implausible_depth) {
    AstigmaticCurve curve = {.sx0_nm = 140, .sy0_nm = 135, .gamma_nm = 200, .d_nm = 300};
    EXPECT_EQ(depth_warning(curve), "");
    curve.d_nm = 500;
    EXPECT_EQ(depth_warning(curve), "");
    curve.d_nm = 3000;
    EXPECT_NE(depth_warning(curve).find("depth of focus is 3 um"), std::string::npos);
    EXPECT_NE(depth_warning(curve).find("about 0.53 um, 5.7 times less"), std::string::npos) << depth_warning(curve);
    EXPECT_NE(depth_warning(curve).find("`z_step`"), std::string::npos);
    curve.d_nm = 30;
    EXPECT_NE(depth_warning(curve).find("18 times more"), std::string::npos) << depth_warning(curve);
}

TEST(Calibrate, refuses_the_real_stack_with_a_tilted_lens) {
    const char* data = std::getenv("GLINT_DATA");
    const std::filesystem::path folder = data ? data : GLINT_SOURCE_DIR "/../shared/data";
    const auto path = folder / "beads_astigmatic_zstack.tif";
    if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is missing: set GLINT_DATA to the test data";
    Camera real;
    real.offset_adu.scalar = 99;
    real.gain_e_per_adu.scalar = 0.6f;
    const std::string why = refusal(*open_movie(path), real, {.pixel_size_nm = 65, .z_step_nm = 10});
    const auto at = why.find("rotated by ");
    ASSERT_NE(at, std::string::npos) << why;
    EXPECT_NEAR(std::remainder(std::atof(why.c_str() + at + std::strlen("rotated by ")) - 47, 90), 0, 4) << why;
}
