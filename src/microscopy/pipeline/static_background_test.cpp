// Structured background: subtracted if present in all frames, without subtracting molecules.
// SPDX-License-Identifier: MIT
#include "pipeline/static_background.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

#include "pipeline/lone_spots.hpp"
#include "psf/in_double.hpp"
#include "tests/drawn_movie.hpp"

namespace glint {
namespace {

using namespace test;

constexpr int edge = 64, frames = 200;
constexpr double sigma_nm = 130, pixel_nm = 100;

struct Molecule {
    std::int64_t frame;
    double x, y, photons;
    bool is_fixed;
};
struct Sample {
    std::unique_ptr<Movie> movie;
    std::vector<Molecule> truth;
};
using Light = std::function<double(double x, double y, double t)>;  // e- per pixel; t from 0 to 1

/// A molecule at a fixed position, which is on in each frame with a given probability.
struct Fixed {
    double x, y, photons, part;
};

/// Returns a sample of random molecules with 800 to 3,000 photons, two per frame by default.
Sample sample_of(unsigned seed, const Light& light, const std::vector<Fixed>& fixed = {}, double a_frame = 2) {
    Psf psf;
    psf.sigma_nm = sigma_nm;
    const PsfInDouble in_double(psf, pixel_nm);
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> place(4, edge - 5), photons(800, 3000), part(0, 1);
    Sample sample;
    sample.movie = drawn_movie(frames, edge, random, [&](int frame) {
        std::vector<double> mu;
        for (int y = 0; y < edge; ++y)
            for (int x = 0; x < edge; ++x) mu.push_back(light(x, y, double(frame) / frames));
        const auto add = [&](double x, double y, double n, bool is_fixed) {
            const double theta[4] = {x, y, n, 0};
            in_double.add_photons(theta, 0, 0, edge, edge, mu.data());
            sample.truth.push_back({frame, x, y, n, is_fixed});
        };
        for (int k = std::poisson_distribution<int>(a_frame)(random); k > 0; --k)
            add(place(random), place(random), photons(random), false);
        for (const Fixed& one : fixed)
            if (part(random) < one.part) add(one.x, one.y, one.photons, true);
        return mu;
    });
    return sample;
}

MeasuredBackground background_of(const Sample& sample) {
    return measure_background(*sample.movie, make_job(sample.movie->info(), drawn_camera(), drawn_options()));
}

double flat(double, double, double) { return 10; }
double sharp_edge(double x, double y, double) { return x > 30 + 0.2 * y ? 60 : 8; }
double slope(double x, double, double) { return 10 + 0.47 * x; }
/// Light that is bright only within a circle, as with a field stop.
double field_stop(double x, double y, double) { return std::hypot(x - 32, y - 30) < 20 ? 60 : 2; }

/// Waves with crests about as wide as spots of 4 px.
double waves(double x, double y, double) { return 25 + 8 * std::sin(x / 3.5) * std::sin(y / 3.5 + x / 20); }

/// Returns true if no other molecule of the frame is near.
bool is_lone(const Sample& sample, const Molecule& one) {
    return std::none_of(sample.truth.begin(), sample.truth.end(), [&](const Molecule& other) {
        return &other != &one && other.frame == one.frame && std::hypot(other.x - one.x, other.y - one.y) < 9;
    });
}

/// Rows within 1.5 px of a molecule of their frame, with each molecule used once, and their mean errors. `pull` and
/// `mean_dx_px` include only lone molecules.
struct Match {
    double precision = 0, recall = 0, mean_dx_px = 0, pull = 0, fixed_recall = 0, fixed_photons = 0, bg_error = 0;
};
Match match(const Sample& sample, const Localizations& rows, const Light& light) {
    std::vector<bool> taken(rows.size());
    double found = 0, lone = 0, fixed = 0, fixed_found = 0, dx = 0, squares = 0, photons = 0, bg = 0;
    for (const Molecule& one : sample.truth) {
        fixed += one.is_fixed;
        for (std::size_t k = 0; k < rows.size(); ++k) {
            if (taken[k] || rows.frame[k] != one.frame ||
                std::hypot(double(rows.x_px[k]) - one.x, double(rows.y_px[k]) - one.y) > 1.5)
                continue;
            taken[k] = true, ++found, fixed_found += one.is_fixed;
            if (is_lone(sample, one)) {
                ++lone, dx += double(rows.x_px[k]) - one.x;
                squares += std::pow((double(rows.x_px[k]) - one.x) / double(rows.lpx_px[k]), 2);
            }
            bg += double(rows.bg[k]) - light(one.x, one.y, 0);
            if (one.is_fixed) photons += double(rows.photons[k]) / one.photons;
            break;
        }
    }
    return {found / double(rows.size()),
            found / double(sample.truth.size()),
            dx / lone,
            std::sqrt(squares / lone),
            fixed_found / fixed,
            photons / fixed_found,
            bg / found};
}

Localizations localize(const Sample& sample, int threads = 0) {
    LocalizeOptions how = drawn_options();
    how.threads = threads, how.backend = Backend::cpu;
    return localize_frames(*sample.movie, drawn_camera(), how);
}

}  // namespace

TEST(StaticBackground, of_what_is_flat_is_nothing) {
    EXPECT_TRUE(background_of(sample_of(1, flat)).light_e.empty());
    EXPECT_TRUE(background_of(sample_of(2, flat, {}, 80)).light_e.empty()) << "crowded: 0.02 molecules a pixel";
    const MeasuredBackground faint =
        background_of(sample_of(3, [](double x, double, double) { return 10 + 0.01 * x; }));
    EXPECT_TRUE(faint.light_e.empty()) << "a slope that shifts by less than a twentieth of the precision";
    EXPECT_EQ(faint.found.max_e, 0);
    EXPECT_EQ(background_warning(faint.found), "");
}

TEST(StaticBackground, is_measured_to_its_noise) {
    for (const auto& light : {sharp_edge, slope, waves}) {
        const MeasuredBackground measured = background_of(sample_of(4, light));
        ASSERT_EQ(measured.light_e.size(), std::size_t(edge) * edge);
        double mean = 0, square = 0, variance = 0;
        for (std::size_t k = 0; k < measured.light_e.size(); ++k) {
            const double truth = light(double(k % edge), double(k / edge), 0);
            mean += (double(measured.light_e[k]) - truth) / (edge * edge);
            square += std::pow(double(measured.light_e[k]) - truth, 2) / (edge * edge);
            variance += truth / measured.found.frames / (edge * edge);
        }
        EXPECT_LT(std::sqrt(square - mean * mean), 1.3 * std::sqrt(variance)) << "a floor is left, which is flat";
    }
}

TEST(StaticBackground, makes_no_false_rows_and_shifts_none) {
    for (const auto& light : {sharp_edge, slope, waves}) {
        const Sample sample = sample_of(5, light);
        const Match found = match(sample, localize(sample), light);
        EXPECT_GT(found.precision, 0.98);
        EXPECT_GT(found.recall, 0.97);
        EXPECT_NEAR(found.pull, 1, 0.12);
        EXPECT_NEAR(found.mean_dx_px, 0, 0.015) << "four standard errors of 400 molecules";
        EXPECT_NEAR(found.bg_error, 0, 0.5) << "column bg counts the known light";
    }
}

TEST(StaticBackground, is_not_what_is_on_in_half_of_the_frames_or_in_all) {
    const std::vector<Fixed> fixed{
        {14.3, 15.2, 400, 0.5}, {40.4, 14.8, 1500, 0.5}, {15.1, 44.7, 6000, 0.5}, {46.2, 45.6, 3000, 1}};
    for (const auto& light : {flat, waves}) {
        const Sample sample = sample_of(6, light, fixed);
        const Match found = match(sample, localize(sample), light);
        EXPECT_GT(found.fixed_recall, 0.97);
        EXPECT_NEAR(found.fixed_photons, 1, 0.03);
        EXPECT_GT(found.precision, 0.97);
    }
}

TEST(StaticBackground, that_changes_is_reported) {
    const auto fading = [](double x, double y, double t) { return sharp_edge(x, y, 0) * (1.6 - 1.2 * t); };
    const MeasuredBackground measured = background_of(sample_of(7, fading));
    ASSERT_FALSE(measured.light_e.empty());
    StaticBackground known = measured.found;
    known.is_known = true;
    EXPECT_NE(background_warning(known).find("changes over the movie"), std::string::npos);
    StaticBackground steady = background_of(sample_of(8, waves)).found;
    EXPECT_NE(background_warning(steady).find("It is not subtracted"), std::string::npos) << "as of a pipe";
    steady.is_known = true;
    EXPECT_EQ(background_warning(steady), "");
}

TEST(StaticBackground, of_a_moving_background_is_nothing_but_false_spots_are_reported) {
    const auto moving = [](double x, double y, double t) {
        return 60 + 45 * std::sin(x / 4 + 60 * t) * std::sin(y / 4 + 25 * t);
    };
    const MeasuredBackground measured = background_of(sample_of(10, moving, {}, 0.2));
    EXPECT_TRUE(measured.light_e.empty());
    EXPECT_GT(measured.found.share_false, 0.5);
    EXPECT_NE(background_warning(measured.found).find("of the spots may be false"), std::string::npos);
    EXPECT_EQ(background_of(sample_of(11, flat)).found.share_false, 0);
}

// 0 ADU, as in the border that registration leaves, is 100 e- below the offset.
TEST(StaticBackground, is_not_measured_beside_a_border_of_zeros) {
    const Light border = [](double x, double y, double) { return x < 2 ? 0.0 : flat(x, y, 0); };
    Sample sample = sample_of(5, border);
    FrameBlock block;
    sample.movie->read(0, frames, block);
    auto* counts = reinterpret_cast<std::uint16_t*>(block.bytes.data());
    for (int row = 0; row < frames * edge; ++row) counts[row * edge] = counts[row * edge + 1] = 0;
    sample.movie = memory_movie(std::move(block), "border.tif");
    EXPECT_TRUE(background_of(sample).light_e.empty());
    EXPECT_GT(double(localize_frames(*sample.movie, drawn_camera(), drawn_options()).size()),
              0.8 * double(sample.truth.size()));
}

TEST(StaticBackground, does_not_depend_on_a_dark_first_frame) {
    Sample sample = sample_of(6, sharp_edge);
    const std::size_t seen = background_of(sample).light_e.size();
    FrameBlock block;
    sample.movie->read(0, frames, block);
    auto* counts = reinterpret_cast<std::uint16_t*>(block.bytes.data());
    std::fill_n(counts, edge * edge, std::uint16_t(100));
    sample.movie = memory_movie(std::move(block), "dark.tif");
    EXPECT_EQ(background_of(sample).light_e.size(), seen);
    EXPECT_EQ(seen, std::size_t(edge) * edge);
}

TEST(StaticBackground, is_the_same_for_any_number_of_threads) {
    const Sample sample = sample_of(9, waves);
    const Localizations one = localize(sample, 1), three = localize(sample, 3);
    EXPECT_EQ(one.x_px, three.x_px);
    EXPECT_EQ(one.bg, three.bg);
    EXPECT_EQ(one.frame, three.frame);
}

TEST(StaticBackground, a_field_stop_with_constant_light_does_not_change) {
    for (const unsigned seed : {1, 2, 3}) {
        const MeasuredBackground measured = background_of(sample_of(seed, field_stop, {}, 0.5));
        EXPECT_NEAR(measured.found.max_e, 58, 8);
        // Chance stays below five errors. Molecules that are on in only half of the movie may remain in a few pixels.
        EXPECT_LT(measured.found.share_changed, 0.004);
    }
}

}  // namespace glint
