// Tests of measured PSFs: recovers simulated beads, fits others within their CRLB, rejects and explains bad input.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <numbers>
#include <string>
#include <vector>

#include "analysis/lens/bead_model.hpp"
#include "analysis/lens/field_cells.hpp"
#include "analysis/lens/field_terms.hpp"
#include "analysis/lens/find_beads.hpp"
#include "analysis/lens/fit_slice.hpp"
#include "analysis/lens/learn_spline.hpp"
#include "analysis/lens/p_value.hpp"
#include "analysis/lens/usable_z.hpp"
#include "glint/calibrate_psf.hpp"
#include "glint/error.hpp"
#include "psf/in_double.hpp"
#include "simulate/random.hpp"
#include "tests/expect_error.hpp"

using namespace glint;
using namespace glint::lens;
using glint::test::expect_error;

namespace {

constexpr double step_nm = 30, bead_photons = 20000, bead_background = 5, camera_offset = 100;
constexpr int bead_slices = 41, movie_edge = 96;

double gauss_share(double pixel, double centre, double sigma) {
    const auto below = [&](double edge) { return 0.5 * std::erf((edge - centre) / (std::numbers::sqrt2 * sigma)); };
    return below(pixel + 0.5) - below(pixel - 0.5);
}

/// An astigmatic lens, or two lobes that turn with z. The pixel's share of the light of a bead at (x, y).
struct SimulatedLens {
    bool helix = false;
    double x_tilt_px_per_um = 0;
    double halo = 0;            // share of light in a spot of twice the width
    double wider_by_field = 0;  // relative, from the middle of the movie to its edge along x

    double share(double i, double j, double x, double y, double z_nm) const {
        const double wider = 1 + wider_by_field * (x - 0.5 * movie_edge) / (0.5 * movie_edge);
        x += x_tilt_px_per_um * z_nm / 1000;
        if (!helix) {
            const double sx = wider * 1.4 * std::hypot(1, (z_nm - 200) / 400),
                         sy = 1.4 * std::hypot(1, (z_nm + 200) / 400);
            return (1 - halo) * gauss_share(i, x, sx) * gauss_share(j, y, sy) +
                   halo * gauss_share(i, x, 2 * sx) * gauss_share(j, y, 2 * sy);
        }
        const double turn = 0.0025 * z_nm, dx = 3.5 * std::cos(turn), dy = 3.5 * std::sin(turn);
        return 0.5 * (gauss_share(i, x + dx, 1.4) * gauss_share(j, y + dy, 1.4) +
                      gauss_share(i, x - dx, 1.4) * gauss_share(j, y - dy, 1.4));
    }
};

double slice_z(int slice) { return step_nm * (slice - 0.5 * (bead_slices - 1)); }

BeadWindow simulate_window(const SimulatedLens& lens, const BeadPlace& at, int size, std::uint64_t seed) {
    BeadWindow window;
    window.size = size;
    window.shot_noise.assign(std::size_t(size) * size, 1.0f),
        window.read_variance.assign(std::size_t(size) * size, 0.0f);
    Random random(seed, Stream::frame_noise, 0);
    for (int k = 0; k < bead_slices; ++k) {
        window.z_nm.push_back(slice_z(k));
        for (int j = 0; j < size; ++j)
            for (int i = 0; i < size; ++i)
                window.photoelectrons.push_back(
                    float(random.poisson(bead_background + at.photons * lens.share(i - size / 2, j - size / 2, at.x_px,
                                                                                   at.y_px, slice_z(k) + at.z_nm))));
    }
    return window;
}

struct SimulatedStack {
    SimulatedLens lens;
    std::vector<BeadPlace> beads;  // in the movie
    std::uint64_t seed = 1;
};

FrameBlock simulate_block(const SimulatedStack& stack) {
    FrameBlock block;
    block.count = bead_slices, block.width = block.height = movie_edge, block.type = PixelType::float32;
    block.bytes.resize(block.frame_bytes() * bead_slices);
    Random random(stack.seed, Stream::frame_noise, 0);
    auto* counts = reinterpret_cast<float*>(block.bytes.data());
    for (int k = 0; k < bead_slices; ++k)
        for (int j = 0; j < movie_edge; ++j)
            for (int i = 0; i < movie_edge; ++i) {
                double mean = bead_background;
                for (const BeadPlace& bead : stack.beads)
                    if (std::abs(i - bead.x_px) < 16 && std::abs(j - bead.y_px) < 16)
                        mean += bead.photons * stack.lens.share(i, j, bead.x_px, bead.y_px, slice_z(k) + bead.z_nm);
                *counts++ = float(camera_offset + random.poisson(mean));
            }
    return block;
}

/// Five beads far apart, at different sub-pixel positions.
std::vector<BeadPlace> five_beads() {
    return {{18.1, 18.3, 0, bead_photons},
            {48.4, 20.6, 0, bead_photons},
            {76.6, 19.9, 0, bead_photons},
            {30.8, 70.1, 0, bead_photons},
            {66.2, 68.5, 0, bead_photons}};
}

PsfCalibration calibrate(Movie& stack, CalibratePsfOptions options = {.pixel_size_nm = 100, .z_step_nm = step_nm}) {
    Camera camera;
    camera.offset_adu.scalar = float(camera_offset);
    Movie* const stacks[] = {&stack};
    return calibrate_psf(stacks, camera, options);
}

/// Whether one warning contains all the words.
bool warns(const PsfCalibration& calibration, const std::vector<std::string>& words) {
    return std::any_of(calibration.warnings.begin(), calibration.warnings.end(), [&](const std::string& warning) {
        return std::all_of(words.begin(), words.end(),
                           [&](const std::string& word) { return warning.find(word) != std::string::npos; });
    });
}

void scale_frames(FrameBlock& block, double factor) {
    auto* counts = reinterpret_cast<float*>(block.bytes.data());
    for (std::size_t p = 0; p < block.bytes.size() / sizeof(float); ++p)
        counts[p] = float(camera_offset + factor * (counts[p] - camera_offset));
}

}  // namespace

TEST(LensSpline, images_and_their_transpose_agree) {
    const SplineGrid grid{.window = 9, .margin = 1, .samples = 2, .nz = 8, .z_min_nm = -100, .z_max_nm = 100};
    Random random(3, Stream::frame_noise, 0);
    std::vector<float> c(grid.size()), back(grid.size());
    for (float& value : c) value = float(random.normal());
    const std::vector<double> z{-100, -33, 12, 100, 130};
    for (const auto of : {BeadModel::Of::value, BeadModel::Of::x_slope, BeadModel::Of::z_slope}) {
        const BeadModel model(grid, z, 9, {0.4, -0.7, 0, 0}, of);
        EXPECT_FALSE(model.contains(4));
        std::vector<float> images = model.images(c), weights(images.size());
        for (float& value : weights) value = float(random.normal());
        back.assign(back.size(), 0.0f);
        model.add_transposed(weights, back);
        double one = 0, other = 0, size = 0;
        for (std::size_t p = 0; p < images.size(); ++p)
            one += double(images[p]) * weights[p], size += std::abs(images[p] * weights[p]);
        for (std::size_t k = 0; k < c.size(); ++k) other += double(c[k]) * back[k];
        EXPECT_NEAR(one, other, 1e-5 * size);
    }
}

TEST(LensSpline, slopes_are_those_of_the_images) {
    const SplineGrid grid{.window = 9, .margin = 1, .samples = 1, .nz = 8, .z_min_nm = -100, .z_max_nm = 100};
    Random random(4, Stream::frame_noise, 0);
    std::vector<float> c(grid.size());
    for (float& value : c) value = float(random.normal());
    const BeadPlace at{0.31, -0.22, 7, 0};
    const auto images = [&](BeadPlace place, BeadModel::Of of) {
        return BeadModel(grid, {10.0}, 9, place, of).images(c);
    };
    const auto compare = [&](BeadModel::Of of, double BeadPlace::*member, double h) {
        BeadPlace up = at, down = at;
        up.*member += h, down.*member -= h;
        const auto slope = images(at, of), above = images(up, BeadModel::Of::value),
                   below = images(down, BeadModel::Of::value);
        for (std::size_t p = 0; p < slope.size(); ++p) {
            const double difference = (double(above[p]) - below[p]) / (2 * h);
            EXPECT_NEAR(slope[p], difference, 2e-3 * (of == BeadModel::Of::z_slope ? 0.05 : 1));
        }
    };
    compare(BeadModel::Of::x_slope, &BeadPlace::x_px, 1e-2);
    compare(BeadModel::Of::y_slope, &BeadPlace::y_px, 1e-2);
    compare(BeadModel::Of::z_slope, &BeadPlace::z_nm, 0.3);
}

TEST(LensSpline, coefficients_of_any_place_are_those_of_the_grid) {
    constexpr int count = 9;
    const double infinite = std::numeric_limits<double>::infinity();
    for (const double u : {-infinite, -1e300, -1.0, 0.0, 1.0, 2.5, 7.0, 8.0, 1e300, infinite, std::nan("")}) {
        const CubicTaps taps = cubic_taps(u, count);
        EXPECT_GE(taps.first, 0) << u;
        EXPECT_LE(taps.first + 3, count - 1) << u;
        double sum = 0, place = 0;
        for (int t = 0; t < 4; ++t) sum += taps.weights[t], place += taps.weights[t] * (taps.first + t);
        EXPECT_NEAR(sum, 1, 1e-14);
        EXPECT_NEAR(place, u > 1 ? std::min(u, 7.0) : 1, 1e-13);  // a spline with coefficients k is k
    }
}

// Beads are recovered within 4 of their own CRLB (all slices together), and slices of another bead within theirs.
TEST(LensSpline, recovers_beads_and_fits_another_within_its_crlb) {
    for (const bool helix : {false, true}) {
        const SimulatedLens lens{helix};
        const int size = 19;
        std::vector<BeadPlace> truth{{0.1, -0.3, 20, bead_photons},
                                     {-0.4, 0.2, -40, 0.7 * bead_photons},
                                     {0.35, 0.45, 0, 1.3 * bead_photons},
                                     {-0.2, -0.05, 20, bead_photons}};
        std::vector<BeadWindow> windows;
        for (std::size_t b = 0; b < truth.size(); ++b) windows.push_back(simulate_window(lens, truth[b], size, 10 + b));
        const LearntPsf learnt = learn_spline(windows, std::vector<BeadPlace>(truth.size()), {});
        double x = 0, y = 0, z = 0;  // the lens's own centre; z of the mean bead
        for (std::size_t b = 0; b < truth.size(); ++b) {
            x += (learnt.places[b].x_px - truth[b].x_px) / double(truth.size());
            y += (learnt.places[b].y_px - truth[b].y_px) / double(truth.size());
            z += (learnt.places[b].z_nm - truth[b].z_nm) / double(truth.size());
            EXPECT_NEAR(learnt.misfit[b], 1, 0.1);
        }
        EXPECT_NEAR(z, 0, 1e-6);
        for (std::size_t b = 0; b < truth.size(); ++b) {  // CRLB of all slices: about 0.003 px and 0.6 nm
            EXPECT_NEAR(learnt.places[b].x_px - truth[b].x_px, x, 0.012);
            EXPECT_NEAR(learnt.places[b].y_px - truth[b].y_px, y, 0.012);
            EXPECT_NEAR(learnt.places[b].z_nm - truth[b].z_nm, z, 2.4);
            EXPECT_NEAR(learnt.places[b].photons / learnt.places[0].photons, truth[b].photons / truth[0].photons, 0.01);
        }
        const BeadPlace other{0.27, -0.41, 0, 3000};
        double squares = 0, bad_p = 0, n = 0;
        const SliceFitter fitter(learnt.spline, 15);
        for (std::uint64_t seed = 50; seed < 53; ++seed) {
            const BeadWindow window = simulate_window(lens, other, size, seed);
            for (std::size_t k = 5; k + 5 < window.slices(); ++k) {
                const SliceFit fit = fitter.fit(window, k);
                EXPECT_TRUE(fit.converged);
                squares += std::pow((fit.theta[fit_z] - window.z_nm[k]) / fit.crlb[fit_z], 2);
                bad_p += fit.p_value < 0.01, n += 1;
            }
        }
        const double error = std::sqrt(1 / (2 * n));
        EXPECT_NEAR(std::sqrt(squares / n), 1.05, 0.05 + 4 * error) << "helix " << helix;
        EXPECT_LT(bad_p / n, 0.02 + 4 * std::sqrt(0.02 / n));
    }
}

TEST(LensSpline, obeys_its_conventions) {
    std::vector<BeadWindow> windows{simulate_window({}, {0.1, 0.2, 0, bead_photons}, 21, 5),
                                    simulate_window({}, {-0.3, -0.2, 0, bead_photons}, 21, 6)};
    const LearntPsf learnt = learn_spline(windows, std::vector<BeadPlace>(2), {});
    const SplineGrid& grid = learnt.spline.grid;
    EXPECT_EQ(grid.nxy(), 21 + 6);
    EXPECT_DOUBLE_EQ(grid.z_min_nm, slice_z(0));
    EXPECT_DOUBLE_EQ(grid.z_max_nm, slice_z(bead_slices - 1));
    double largest = 0;
    for (int k = 0; k < bead_slices; ++k) {
        const std::vector<float> h = BeadModel(grid, {slice_z(k)}, 21, {}).images(learnt.spline.coefficients);
        double sum = 0, border = 0;
        for (std::size_t p = 0; p < h.size(); ++p) {
            sum += h[p];
            if (p / 21 == 0 || p / 21 == 20 || p % 21 == 0 || p % 21 == 20) border += h[p] / 80;
        }
        largest = std::max(largest, sum);
        EXPECT_NEAR(border, 0, 1e-7);
    }
    EXPECT_NEAR(largest, 1, 2e-3);  // the scale is measured at other z
}

TEST(LensSpline, p_values_are_those_of_chi_squared_at_high_counts) {
    EXPECT_NEAR(upper_gamma(0.5 * 10, 0.5 * 18.307), 0.05, 1e-5);
    EXPECT_NEAR(upper_gamma(0.5 * 200, 0.5 * 249.445), 0.01, 1e-5);
    EXPECT_NEAR(upper_gamma(1, 3), std::exp(-3.0), 1e-12);
    EXPECT_NEAR(upper_gamma(50, 10), 1, 1e-12);
    const DevianceMoments moments = deviance_moments(DevianceOf::poisson, 1e5, 0);
    EXPECT_NEAR(p_value_of_deviance(249.445, 200 * moments.mean, 200 * moments.variance), 0.01, 1e-4);
}

TEST(LensSpline, usable_range_ends_at_bias_slope_and_wrong_fits) {
    std::vector<PsfSliceError> bins;
    for (int k = 0; k < 30; ++k)
        bins.push_back(
            {.z_nm = -725.0 + 50 * k, .fits = 20, .z_bias_nm = 0, .z_rms_nm = 5, .z_crlb_nm = 5 + std::abs(k - 15.0)});
    EXPECT_EQ(find_usable_bins(bins).first, 0u);
    EXPECT_EQ(find_usable_bins(bins).last, 29u);
    bins[3].z_bias_nm = 50, bins[25].wrong = 0.3;
    const UsableBins range = find_usable_bins(bins);
    EXPECT_GT(range.first, 3u);
    EXPECT_LE(range.first, 6u);  // the slope near the biased bin is wrong, too
    EXPECT_EQ(range.last, 24u);
    for (PsfSliceError& bin : bins) bin.wrong = 1;
    EXPECT_TRUE(find_usable_bins(bins).empty());
}

TEST(CalibratePsf, finds_beads_and_measures_its_errors) {
    for (const bool helix : {false, true}) {
        auto movie = memory_movie(simulate_block({{helix}, five_beads(), 7}), "beads");
        const PsfCalibration got = calibrate(*movie);
        ASSERT_EQ(got.beads.size(), 5u);
        for (const PsfBead& bead : got.beads) EXPECT_EQ(bead.rejected, "");
        // Positions relative to each other; the lens's centre is its own.
        const auto truth = five_beads();
        for (const PsfBead& bead : got.beads) {
            double nearest = 1e9;
            for (const BeadPlace& place : truth)
                nearest = std::min(nearest, std::hypot(bead.x_px - place.x_px, bead.y_px - place.y_px));
            EXPECT_LT(nearest, 0.1);
        }
        EXPECT_NEAR(got.z_slope, 1, 0.02);  // standard error 0.002; the model is from two or three beads
        // The mean CRLB exceeds the median, the model of two or three beads adds 20 %, and n is about 190.
        EXPECT_LT(got.z_rms_nm, 1.04 * 1.2 * (1 + 4 / std::sqrt(2 * 190.0)) * got.z_crlb_nm);
        EXPECT_GT(got.good_p, 0.95);
        EXPECT_LE(got.z_min_nm, -500);
        EXPECT_GE(got.z_max_nm, 500);
        EXPECT_EQ(got.table->shape()[0],
                  int(std::lround((got.table->scale().z_max_nm - got.table->scale().z_min_nm) / got.knot_nm)) + 3);
    }
}

// Residuals of a correct model have the variance 1, less a tenth for the coefficients that were fitted to them: about
// 17 x 17 x 18 of 5 x 41 x 17 x 17 pixels. The noise of their mean square is 0.02.
TEST(CalibratePsf, cuts_sections_of_data_model_and_residual) {
    auto movie = memory_movie(simulate_block({{}, five_beads(), 7}), "beads");
    const PsfCalibration got = calibrate(*movie);
    double squares = 0, pixels = 0;
    for (const PsfBead& bead : got.beads) {
        const PsfBeadSections& sections = bead.sections;
        ASSERT_EQ(sections.size, got.roi_size);
        const auto size = std::size_t(sections.size), slices = sections.z_nm.size();
        EXPECT_GE(slices, std::size_t(bead_slices) - 2) << "the grid covers all slices but for the bead's own z";
        ASSERT_EQ(sections.xy.size(), 3 * size * size);
        ASSERT_EQ(sections.xz.size(), 3 * slices * size);
        ASSERT_EQ(sections.yz.size(), 3 * slices * size);
        EXPECT_NEAR(sections.xy_z_nm, 0.5 * (got.z_min_nm + got.z_max_nm), step_nm);
        const std::size_t middle = size * (size / 2) + size / 2;
        EXPECT_NEAR(sections.xy[middle], sections.xy[size * size + middle], 5 * std::sqrt(sections.xy[middle]));
        for (std::size_t p = 0; p < slices * size; ++p)
            squares += std::pow(sections.xz[2 * slices * size + p], 2), pixels += 1;
        const auto slice = std::find(sections.z_nm.begin(), sections.z_nm.end(), sections.xy_z_nm);
        const auto row = sections.xz.begin() + (slice - sections.z_nm.begin()) * std::ptrdiff_t(size);
        EXPECT_NE(std::search(sections.xy.begin(), sections.xy.end(), row, row + std::ptrdiff_t(size)),
                  sections.xy.end())
            << "a row of the slice xy";
    }
    EXPECT_NEAR(squares / pixels, 0.95, 0.1);
}

TEST(CalibratePsf, compares_with_the_astigmatic_gaussian) {
    const auto measure = [](const SimulatedLens& lens) {
        const PsfCalibration got = calibrate(*memory_movie(simulate_block({lens, five_beads(), 7}), "beads"));
        EXPECT_TRUE(got.gaussian.has_value());
        return got;
    };
    // The Gaussian is exact here; the measured PSF of two or three beads is not, and its deviance is higher.
    const PsfCalibration exact = measure({});
    EXPECT_TRUE(exact.gaussian->suffices);
    EXPECT_LT(exact.gaussian->added_deviance, 0);
    EXPECT_GT(exact.gaussian->good_p, 0.95);
    EXPECT_LT(exact.gaussian->z_rms_nm, 1.1 * exact.z_rms_nm);
    // A sixth of the light in a tail, which a Gaussian does not have.
    const PsfCalibration halo = measure({.halo = 0.16});
    EXPECT_FALSE(halo.gaussian->suffices) << halo.gaussian->good_p;
}

TEST(CalibratePsf, measures_a_single_bead_by_every_second_slice_and_warns) {
    auto movie = memory_movie(simulate_block({{}, {{40.3, 50.6, 0, bead_photons}}, 8}), "one");
    const PsfCalibration got = calibrate(*movie);
    EXPECT_TRUE(got.judged_by_slices);
    ASSERT_FALSE(got.warnings.empty());
    EXPECT_NE(got.warnings[0].find("1 bead"), std::string::npos);
    EXPECT_NEAR(got.z_slope, 1, 0.02);
    EXPECT_FALSE(warns(got, {"beads that were left out"}));
}

// Counts of twice the photoelectrons have twice their variance, and of half, half.
TEST(CalibratePsf, warns_of_a_wrong_gain) {
    EXPECT_FALSE(warns(calibrate(*memory_movie(simulate_block({{}, five_beads(), 7}), "right")), {"deviance"}));
    for (const double factor : {0.5, 2.0}) {
        FrameBlock block = simulate_block({{}, five_beads(), 7});
        scale_frames(block, factor);
        const PsfCalibration got = calibrate(*memory_movie(std::move(block), "wrong"));
        EXPECT_NEAR(got.deviance / factor, 1, 0.15);
        EXPECT_TRUE(warns(got, {fmt::format("deviance of {:.2f}", got.deviance), "`gain`"}));
        EXPECT_EQ(warns(got, {"noise is lower"}), factor < 1);
    }
}

// A drift of all beads by 0.1 px a slice is 3.3 px per um. That of the simulated lens without a drift is 0.
TEST(CalibratePsf, reports_the_motion_with_z_and_warns_of_a_drift) {
    constexpr double per_px_per_um = 100.0 / 1000;  // pixels of 100 nm
    for (const double tilt : {0.5, 3.3}) {
        auto movie = memory_movie(simulate_block({{false, tilt}, five_beads(), 7}), "tilted");
        const PsfCalibration got = calibrate(*movie);
        // x of a slice has an error of 0.03 px, and 200 slices over 1.2 um determine the slope within 0.007 px per um.
        EXPECT_NEAR(got.x_tilt / per_px_per_um, tilt, 0.03 + 0.03 * tilt);
        EXPECT_NEAR(got.y_tilt / per_px_per_um, 0, 0.03);
        EXPECT_EQ(warns(got, {"moves sideways", "drifted"}), tilt > 1.5);
    }
}

// Two lobes of a helix turn, and those of two beads do not. A dimmer bead is beside each, 4.5 or 5 px away.
TEST(CalibratePsf, warns_of_a_psf_that_changes_over_the_field) {
    std::vector<BeadPlace> beads;
    for (const double x : {17.2, 47.6, 77.9})
        for (const double y : {18.4, 48.1, 77.7}) beads.push_back({x + 0.03 * y - 1, y - 0.02 * x, 0, bead_photons});
    const auto same = memory_movie(simulate_block({{}, beads}), "same.tif");
    EXPECT_FALSE(warns(calibrate(*same), {"over the field, by"}));
    SimulatedLens lens;
    lens.wider_by_field = 0.15;
    const auto other = memory_movie(simulate_block({lens, beads}), "other.tif");
    EXPECT_TRUE(warns(calibrate(*other), {"the PSF changes over the field, by", "`field`", "region"}));
    expect_error<InputError>([&] { calibrate(*other, {.pixel_size_nm = 100, .z_step_nm = step_nm, .field = true}); },
                             {"other.tif", "9 usable beads", "12", "leave `field` out"});
}

// The truth is drawn with the width at each place, and one PSF has the mean width.
TEST(CalibratePsf, measures_a_psf_that_changes_over_the_field) {
    SimulatedLens lens;
    lens.wider_by_field = 0.15;
    std::vector<std::unique_ptr<Movie>> movies;
    for (int k = 0; k < 3; ++k) {
        std::vector<BeadPlace> beads;
        for (const double x : {17.2, 47.6, 77.9})
            for (const double y : {18.4, 48.1, 77.7})
                beads.push_back({x + 0.03 * y - 1 + 0.31 * k, y - 0.02 * x + 0.27 * k, 0, bead_photons});
        movies.push_back(memory_movie(simulate_block({lens, beads, std::uint64_t(k + 1)}), fmt::format("{}.tif", k)));
    }
    std::vector<Movie*> stacks;
    for (const auto& movie : movies) stacks.push_back(movie.get());
    Camera camera;
    camera.offset_adu.scalar = float(camera_offset);
    CalibratePsfOptions options{.pixel_size_nm = 100, .z_step_nm = step_nm};
    const PsfCalibration one = calibrate_psf(stacks, camera, options);
    EXPECT_FALSE(one.field);
    EXPECT_EQ(one.table->field().cells(), 1);
    options.field = true, options.field_x_px = 1000, options.field_y_px = 500;
    const PsfCalibration found = calibrate_psf(stacks, camera, options);
    ASSERT_TRUE(found.field);
    EXPECT_GE(found.field->degree, 1);
    EXPECT_GT(found.field->gain, 4 * found.field->gain_error);
    EXPECT_GT(found.field->good_p, found.field->good_p_of_one);
    EXPECT_LT(found.deviance, one.deviance);
    EXPECT_LE(found.field->cell_error_nm, 1.001);
    EXPECT_FALSE(warns(found, {"changes over the field by"}));
    const PsfField& field = found.table->field();
    EXPECT_GT(field.cells_x, 1);
    // Half a window left of and above the first beads, at (16.7, 16.8), and up to half a cell more along one axis.
    const double more_px = 1 + 0.5 * field.cell_px;
    EXPECT_NEAR(field.left_px, 1016.7 - 0.5 * found.roi_size, more_px);
    EXPECT_NEAR(field.top_px, 516.8 - 0.5 * found.roi_size, more_px);
    // Second moments of a molecule in a cell, from samples of the spline at z = 200 nm, where sx is 1.4 px times the
    // change. A window of 5 sigma with noise: within 5 %.
    const auto width_px = [&](double x_px) {
        const Psf psf = measured_psf(found.table);
        std::vector<double> h(17 * 17);
        const double theta[] = {x_px, 548, 1, 0, 0.2};
        PsfInDouble(psf, 100).add_photons(theta, int(x_px) - 8, 540, 17, 17, h.data());
        double sum = 0, first = 0, second = 0;
        for (int p = 0; p < 17 * 17; ++p) {
            if (h[std::size_t(p)] < 1e-3) continue;  // the noise of the tails
            const double x = p % 17 - 8 - (x_px - int(x_px));
            sum += h[std::size_t(p)], first += h[std::size_t(p)] * x, second += h[std::size_t(p)] * x * x;
        }
        return std::sqrt(second / sum - std::pow(first / sum, 2));
    };
    const double expected = (1 + 0.15 * (77.0 - 48) / 48) / (1 - 0.15 * (48 - 18.0) / 48);
    EXPECT_NEAR(width_px(1077) / width_px(1018), expected, 0.05 * expected);
}

TEST(FieldTerms, are_orthogonal_and_cover_the_beads) {
    std::vector<BeadWindow> windows(3);
    const int places[3][2] = {{10, 20}, {110, 40}, {60, 60}};
    for (std::size_t b = 0; b < 3; ++b)
        windows[b].left = places[b][0], windows[b].top = places[b][1], windows[b].size = 15;
    const FieldTerms terms = make_field_terms(windows, 2);
    EXPECT_EQ(terms.count(), 6u);
    EXPECT_EQ(terms.x_middle_px, 67);
    EXPECT_EQ(terms.y_middle_px, 47);
    EXPECT_EQ(terms.half_px, 50);
    EXPECT_EQ(FieldTerms{}.at(1234, -5), std::vector<double>{1});
    // Gauss-Legendre quadrature with three points is exact up to degree 5.
    const double nodes[] = {-std::sqrt(0.6), 0, std::sqrt(0.6)}, weights[] = {5.0 / 18, 8.0 / 18, 5.0 / 18};
    for (std::size_t a = 0; a < 6; ++a)
        for (std::size_t b = 0; b < a; ++b) {
            double product = 0;
            for (int i = 0; i < 3; ++i)
                for (int j = 0; j < 3; ++j) {
                    const auto at = terms.at(67 + 50 * nodes[i], 47 + 50 * nodes[j]);
                    product += weights[i] * weights[j] * at[a] * at[b];
                }
            EXPECT_NEAR(product, 0, 1e-12) << a << " and " << b;
        }
}

TEST(FieldCells, are_as_small_as_the_error_needs_and_as_few_as_fit) {
    std::vector<BeadWindow> windows(2);
    windows[0].left = 20, windows[0].top = 30, windows[1].left = 220, windows[1].top = 130;
    windows[0].size = windows[1].size = 21;
    const FieldCells cells = choose_cells(windows, 0.1, 1000);
    // 20 px for 1 nm, over 200 x 100 px and 10.5 px around.
    EXPECT_EQ(cells.field.cells_x, 12);
    EXPECT_EQ(cells.field.cells_y, 7);
    EXPECT_LE(cells.error_nm, max_cell_error_nm);
    EXPECT_NEAR(cells.field.left_px, 30 - 10.5, 1e-9);
    EXPECT_LE(cells.field.top_px, 40 - 10.5);
    EXPECT_GE(cells.field.top_px + 7 * cells.field.cell_px, 140 + 10.5);
    const FieldCells same = choose_cells(windows, 0, 1000);
    EXPECT_EQ(same.field.cells(), 1);
    EXPECT_EQ(same.error_nm, 0);
    const std::size_t large = PsfTable::max_bytes / sizeof(float);
    const FieldCells few = choose_cells(windows, 0.1, large);
    EXPECT_LE(std::size_t(few.field.cells()) * large, PsfTable::max_field_bytes / sizeof(float));
    EXPECT_GT(few.error_nm, max_cell_error_nm);
    EXPECT_LE(choose_cells(windows, 100, 10).field.cells(), PsfField::max_cells);
}

TEST(CalibratePsf, warns_of_two_beads_in_each_window) {
    const auto with_second = [](const SimulatedLens& lens, double dx, double dy, std::size_t beads) {
        std::vector<BeadPlace> places = five_beads();
        places.resize(beads);
        for (std::size_t b = 0; b < beads; ++b)
            places.push_back({places[b].x_px + dx, places[b].y_px + dy, 0, 0.7 * bead_photons});
        return calibrate(*memory_movie(simulate_block({lens, places, 7}), "double"));
    };
    EXPECT_TRUE(warns(with_second({}, 3.4, 3.0, 5), {"two maxima", "two beads"}));
    EXPECT_TRUE(warns(with_second({}, 0, 5, 1), {"two maxima", "two beads"}));
    for (const bool helix : {false, true})
        EXPECT_FALSE(warns(calibrate(*memory_movie(simulate_block({{helix}, five_beads(), 7}), "single")), {"maxima"}));
}

// Counts below the offset are no photons.
TEST(CalibratePsf, names_an_offset_above_the_counts) {
    FrameBlock block = simulate_block({{}, five_beads(), 7});
    auto* counts = reinterpret_cast<float*>(block.bytes.data());
    for (std::size_t p = 0; p < block.bytes.size() / sizeof(float); ++p) counts[p] -= 1000;
    auto movie = memory_movie(std::move(block), "low");
    expect_error<InputError>([&] { calibrate(*movie); }, {"low", "below the offset", "-995", "`offset`"});
}

TEST(CalibratePsf, rejects_with_a_reason) {
    SimulatedStack stack{{}, five_beads(), 9};
    stack.beads.push_back({50.0, 48.0, 0, 0.1 * bead_photons});  // dim
    stack.beads.push_back({3.0, 45.0, 0, bead_photons});         // edge
    FrameBlock block = simulate_block(stack);
    auto* counts = reinterpret_cast<float*>(block.bytes.data());
    counts[std::size_t(20) * movie_edge * movie_edge + 70 * movie_edge + 31] = std::numeric_limits<float>::quiet_NaN();
    auto movie = memory_movie(std::move(block), "mixed");
    CalibratePsfOptions options{.pixel_size_nm = 100, .z_step_nm = step_nm, .roi_size = 17};
    const PsfCalibration got = calibrate(*movie, options);
    int used = 0, dim = 0, edge = 0, missing = 0;
    for (const PsfBead& bead : got.beads) {
        used += bead.rejected.empty();
        dim += bead.rejected.find("times as bright") != std::string::npos;
        edge += bead.rejected.find("edge") != std::string::npos;
        missing += bead.rejected.find("NaN") != std::string::npos;
    }
    EXPECT_EQ(used, 4);
    EXPECT_EQ(dim, 1);
    EXPECT_EQ(edge, 1);
    EXPECT_EQ(missing, 1);
}

TEST(CalibratePsf, leaves_out_slices_without_an_image_and_names_them) {
    const float missing = std::numeric_limits<float>::quiet_NaN();
    const auto faulty = [&](const std::vector<int>& slices, double light, float added) {
        FrameBlock block = simulate_block({{}, five_beads(), 7});
        const std::size_t pixels = std::size_t(movie_edge) * movie_edge;
        auto* counts = reinterpret_cast<float*>(block.bytes.data());
        for (const int slice : slices)
            for (std::size_t p = slice * pixels; p < (slice + 1) * pixels; ++p)
                counts[p] = float(camera_offset + added + light * (counts[p] - camera_offset));
        return memory_movie(std::move(block), "faulty");
    };
    const PsfCalibration right = calibrate(*faulty({}, 1, 0));
    EXPECT_FALSE(warns(right, {"not used"}));
    const struct {
        double light;
        float added;
        const char* reason;
    } faults[] = {{1, missing, "NaN"}, {0, 0, "same value"}, {0.01, 3, "dark"}, {0.4, 3, "dimmer"}, {2, 0, "brighter"}};
    for (const auto& fault : faults) {
        const PsfCalibration got = calibrate(*faulty({14}, fault.light, fault.added));
        EXPECT_TRUE(warns(got, {"faulty: slice 14 (from 0) is not used", fault.reason})) << fault.reason;
        // One slice of 41 less: the usable range of the others.
        EXPECT_NEAR(got.z_min_nm, right.z_min_nm, 51) << fault.reason;
        EXPECT_NEAR(got.z_max_nm, right.z_max_nm, 51) << fault.reason;
        EXPECT_GT(got.good_p, 0.95) << fault.reason;
    }
    EXPECT_TRUE(warns(calibrate(*faulty({0, 1, 40}, 0, 0)), {"slices 0, 1, 40 (from 0) are not used"}));
    expect_error<InputError>(
        [&] {
            calibrate(*faulty({3, 9, 10, 20, 33}, 1, missing));
        },
        {"5 of 41 slices", "at most 4", "slices 3, 9, 10, 20, 33 (from 0)", "NaN"});
}

TEST(CalibratePsf, refuses_bad_input) {
    auto movie = memory_movie(simulate_block({{}, five_beads(), 11}), "beads");
    const auto with = [&](auto change) {
        CalibratePsfOptions options{.pixel_size_nm = 100, .z_step_nm = step_nm};
        change(options);
        return [&movie, options] { calibrate(*movie, options); };
    };
    expect_error<OptionError>(with([](auto& o) { o.z_step_nm = 0; }), {"z_step"});
    expect_error<OptionError>(with([](auto& o) { o.z_step_nm = std::nan(""); }), {"z_step"});
    expect_error<OptionError>(with([](auto& o) { o.z_step_nm = 0.03; }), {"0.03", "nanometres"});
    expect_error<OptionError>(with([](auto& o) { o.roi_size = 12; }), {"12", "odd"});
    expect_error<OptionError>(with([](auto& o) { o.z_center_nm = 1e20; }), {"1e+20 nm", "100000", "middle slice"});
    expect_error<OptionError>(with([](auto& o) { o.z_center_nm = -std::nan(""); }), {"nan", "middle slice"});
    expect_error<OptionError>(with([](auto& o) { o.z_scale = 0; }), {"scale"});
    expect_error<OptionError>(with([](auto& o) { o.pixel_size_nm = 0; }), {});
    FrameBlock few = simulate_block({{}, five_beads(), 11});
    few.count = 4;
    auto short_movie = memory_movie(std::move(few), "short");
    expect_error<InputError>([&] { calibrate(*short_movie); }, {"short", "4 slices"});
    auto flat = memory_movie(simulate_block({{}, {}, 12}), "flat");
    expect_error<InputError>([&] { calibrate(*flat); }, {"flat", "no bead"});
    FrameBlock constant = simulate_block({{}, {}, 12});
    scale_frames(constant, 0);
    auto dark = memory_movie(std::move(constant), "dark");
    expect_error<InputError>([&] { calibrate(*dark); }, {"dark", "41 of 41 slices", "same value"});
    StopFlag stop{true};
    expect_error<Cancelled>(with([&](auto& o) { o.stop = &stop; }), {"stopped"});
}
