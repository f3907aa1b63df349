// Tests of NeNA, of the Fourier ring correlation and of their warnings, with molecules of known precision.
// SPDX-License-Identifier: MIT
#include "glint/resolution.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <functional>
#include <numbers>
#include <random>

#include "analysis/fourier.hpp"
#include "analysis/frc.hpp"
#include "glint/error.hpp"
#include "glint/link.hpp"
#include "tests/expect_error.hpp"

using namespace glint;
using test::expect_error;

namespace {

/// Molecules at random or given places in the field, which blink repeatedly for some frames.
struct Blinking {
    int molecules = 400, frames = 4000, blinks = 8, length = 5;
    double field_nm = 20000, sigma_nm = 10;
    double spread = 0;    ///< of sigma: uniform within sigma (1 +- spread)
    double step_nm = 0;   ///< per frame, of a molecule that moves
    double drift_nm = 0;  ///< over the movie
    std::uint64_t seed = 1;
    std::function<std::pair<double, double>(std::mt19937_64&)> place;

    Localizations table() const {
        std::mt19937_64 random(seed);
        std::uniform_real_distribution<double> uniform(0, 1);
        std::normal_distribution<double> normal;
        Localizations out;
        for (int m = 0; m < molecules; ++m) {
            const auto [x0, y0] =
                place ? place(random) : std::pair{uniform(random) * field_nm, uniform(random) * field_nm};
            for (int b = 0; b < blinks; ++b) {
                const int first = int(uniform(random) * (frames - length));
                double x = x0, y = y0;
                for (int k = 0; k < length; ++k) {
                    const double sigma = sigma_nm * (1 + spread * (2 * uniform(random) - 1));
                    const double drift = drift_nm * (first + k) / frames;
                    out.frame.push_back(std::uint32_t(first + k));
                    out.x_px.push_back(float((x + drift + sigma * normal(random)) / 100 - 0.5));
                    out.y_px.push_back(float((y + sigma * normal(random)) / 100 - 0.5));
                    out.lpx_px.push_back(float(sigma / 100)), out.lpy_px.push_back(float(sigma / 100));
                    x += step_nm * normal(random), y += step_nm * normal(random);
                }
            }
        }
        out.pixel_size_nm = 100, out.width = out.height = int(field_nm / 100), out.frames = frames;
        return out;
    }
};

ResolutionOptions reaching(double finest_nm, double tile_nm = 5000) {
    ResolutionOptions options;
    options.frc.finest_nm = finest_nm, options.tile_nm = tile_nm;
    return options;
}

/// Returns a struct with some fields set: with(Blinking{}, [](auto& b) { b.molecules = 60; }).
template <class Struct, class Set>
Struct with(Struct value, Set set) {
    set(value);
    return value;
}

bool says(const Resolution& result, const std::string& what) {
    return std::any_of(result.caveats.begin(), result.caveats.end(),
                       [&](const std::string& caveat) { return caveat.find(what) != std::string::npos; });
}

TEST(Nena, finds_the_precision_of_molecules_that_blink) {
    const Localizations table = Blinking{}.table();
    const Nena found = nena(table);
    // 12,800 pairs, each with a relative variance of 1 for sigma^2. Neighbouring pairs share a localization. The
    // standard error of sigma is therefore between sigma / (2 sqrt(pairs)) and twice that, plus the effect of the
    // correction terms.
    const double least = 10 / (2 * std::sqrt(double(found.pairs)));
    EXPECT_NEAR(found.precision.nm, 10, 4 * found.precision.error_nm);
    EXPECT_GT(found.precision.error_nm, 0.7 * least);
    EXPECT_LT(found.precision.error_nm, 6 * least);
    EXPECT_NEAR(found.single.nm, 10, 4 * found.single.error_nm);
    EXPECT_NEAR(found.stated_nm, 10, 1e-3);
    EXPECT_GT(found.same_molecule, 0.95);
    EXPECT_EQ(found.distance_nm.size(), found.counts.size());
}

TEST(Nena, errors_are_as_large_as_the_scatter) {
    std::vector<double> pulls;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        const Nena found = nena(with(Blinking{}, [&](auto& b) { b.molecules = 100, b.seed = seed; }).table());
        pulls.push_back((found.precision.nm - 10) / found.precision.error_nm);
    }
    double squares = 0, sum = 0;
    for (double pull : pulls) squares += pull * pull, sum += pull;
    const double n = double(pulls.size());
    // A jackknife of 20 blocks has a relative error of 1 / sqrt(38). The chi^2 of 20 pulls is within 4 standard errors,
    // widened by that.
    EXPECT_LT(squares / n, 1 + 4 * std::sqrt(2 / n) + 4 / std::sqrt(38.0));
    EXPECT_GT(squares / n, 1 - 4 * std::sqrt(2 / n) / 1.6);
    EXPECT_LT(std::abs(sum / n), 4 * std::sqrt(1.3 / n));
}

TEST(Nena, gives_the_median_of_different_precisions) {
    // Uniform from 6 to 14. The precision of a pair is sqrt((a^2 + b^2) / 2), and the rows state its median. Eq. 14.2
    // assumes a gamma distribution of the inverse squares, which does not hold here: 5 % for that.
    const Nena found = nena(with(Blinking{}, [&](auto& b) { b.molecules = 1500, b.spread = 0.4; }).table());
    const double rms = std::sqrt(100 * (1 + 0.16 / 3));
    EXPECT_NEAR(found.precision.nm, found.stated_nm, 4 * found.precision.error_nm + 0.05 * found.stated_nm);
    EXPECT_NEAR(found.rms.nm, rms, 4 * found.rms.error_nm + 0.01 * rms);
}

TEST(Nena, does_not_depend_on_the_order_of_rows_or_on_frames_without_molecules) {
    Localizations table = with(Blinking{}, [&](auto& b) { b.molecules = 60; }).table();
    const Nena first = nena(table);
    std::vector<std::size_t> order(table.size());
    for (std::size_t k = 0; k < order.size(); ++k) order[k] = order.size() - 1 - k;
    table = select(table, order);
    for (std::uint32_t& frame : table.frame) frame += 4000000000u;  // memory does not depend on the number of frames
    const Nena second = nena(table);
    EXPECT_EQ(first.pairs, second.pairs);
    EXPECT_NEAR(first.precision.nm, second.precision.nm, 1e-6);
}

TEST(Nena, has_no_result_for_too_few_pairs) {
    Localizations table = with(Blinking{}, [&](auto& b) { b.molecules = 2, b.blinks = 2; }).table();
    EXPECT_TRUE(std::isnan(nena(table).precision.nm));
    EXPECT_TRUE(std::isnan(nena(select(table, {})).precision.nm));
    EXPECT_TRUE(says(resolution(table), "needs 100"));
    table.pixel_size_nm = 0;
    EXPECT_THROW(nena(table), OptionError);
    EXPECT_THROW(resolution(table), OptionError);
}

TEST(Resolution, warns_of_linked_blinks) {
    const Resolution found = resolution(
        with(Blinking{}, [&](auto& b) { b.blinks = 40, b.length = 1, b.sigma_nm = 6; }).table(), reaching(12));
    EXPECT_TRUE(says(found, "were blinks linked"));
    EXPECT_FALSE(says(found, "rows state"));
    EXPECT_GT(found.frc.units, 15000u);  // uses the precision that rows state
    EXPECT_GT(found.frc.resolution.nm, 0);
}

TEST(Resolution, warns_of_blinks_that_are_linked_according_to_the_history) {
    const Localizations table = Blinking{}.table();
    Localizations linked = merge_tracks(table, link(table));
    ASSERT_TRUE(is_linked(linked));
    EXPECT_FALSE(is_linked(table));
    const Resolution found = resolution(linked, reaching(25));
    EXPECT_TRUE(says(found, "blinks were linked to one row each"));
    EXPECT_FALSE(says(found, "were blinks linked"));
    EXPECT_FALSE(says(found, "rows state"));
    linked.extra.clear();  // only the history shows it
    EXPECT_TRUE(says(resolution(linked, reaching(25)), "blinks were linked to one row each"));
    EXPECT_FALSE(says(resolution(with_tracks(table, link(table)), reaching(25)), "linked"));
}

TEST(Nena, survives_rows_at_one_place) {
    Localizations table;
    for (int k = 0; k < 500; ++k)
        table.frame.push_back(std::uint32_t(k)), table.x_px.push_back(3), table.y_px.push_back(4);
    table.pixel_size_nm = 100;
    const Nena found = nena(table);
    EXPECT_FALSE(found.precision.nm > 1e-3);  // NaN, or next to nothing
}

TEST(Resolution, still_molecules_have_no_caveats) {
    const Resolution found = resolution(Blinking{}.table(), reaching(25));
    EXPECT_EQ(found.caveats, std::vector<std::string>{}) << found.caveats.front();
    ASSERT_EQ(found.later.size(), 2u);
    for (const Nena& later : found.later) EXPECT_NEAR(later.precision.nm, 10, 4 * later.precision.error_nm);
}

TEST(Resolution, warns_of_drift) {
    EXPECT_TRUE(
        says(resolution(with(Blinking{}, [&](auto& b) { b.drift_nm = 200; }).table(), reaching(60)), "there is drift"));
}

TEST(Resolution, warns_of_moving_molecules) {
    // Over k frames, sigma^2 becomes sigma^2 + k step^2 / 2.
    const Resolution found = resolution(with(Blinking{}, [&](auto& b) { b.step_nm = 8; }).table(), reaching(60));
    EXPECT_TRUE(says(found, "molecules move"));
    for (const Nena& at : {found.nena, found.later[0], found.later[1]}) {
        const double expected = std::sqrt(100 + 0.5 * at.lag * 64);
        EXPECT_NEAR(at.precision.nm, expected, 4 * at.precision.error_nm + 0.01 * expected) << at.lag;
    }
}

TEST(Resolution, warns_of_precisions_that_differ_from_the_stated_ones) {
    Localizations table = Blinking{}.table();
    for (auto* column : {&table.lpx_px, &table.lpy_px})
        for (float& value : *column) value *= 0.7f;
    EXPECT_TRUE(says(resolution(table, reaching(60)), "next frame state a precision of 7.0 nm"));
}

TEST(Resolution, maps_density_and_precision_by_place) {
    Localizations table = Blinking{}.table();
    // The right half is half as precise.
    Blinking right = with(Blinking{}, [&](auto& b) { b.sigma_nm = 20, b.seed = 2; });
    right.place = [](std::mt19937_64& random) {
        std::uniform_real_distribution<double> uniform(0, 1);
        const double x = uniform(random);
        return std::pair{20000 + 20000 * x, 20000 * uniform(random)};
    };
    append(table, right.table());
    table.width = 400;
    const Resolution found = resolution(table, reaching(60, 10000));
    ASSERT_EQ(found.precision_nm.width, 4);
    ASSERT_EQ(found.precision_nm.height, 2);
    double sum = 0;
    for (std::size_t k = 0; k < 8; ++k) {
        const double expected = k % 4 < 2 ? 10 : 20, error = found.precision_error_nm.values[k];
        sum += double(found.density_per_um2.values[k]) * 100;  // um^2 per tile
        // The shape of the correction terms comes from the whole field, a mixture of both halves: 5 % for that.
        EXPECT_NEAR(found.precision_nm.values[k], expected, 5 * error + 0.05 * expected) << k;
    }
    EXPECT_NEAR(sum, double(table.size()), 1e-3 * double(table.size()));
}

TEST(Resolution, maps_of_a_field_far_away_begin_there) {
    Localizations table = Blinking{}.table();
    const Resolution here = resolution(table, reaching(40));
    EXPECT_EQ(here.map_x_nm, 0);
    EXPECT_FALSE(says(here, "steps of"));
    for (float& x : table.x_px) x += 2e6f;  // steps of 0.125 px
    table.width = 2'000'200, table.height = 100;
    ResolutionOptions options = reaching(40);
    options.tile_nm = 1000;  // 200,020 x 10 tiles are allowed, but not twice as many
    EXPECT_EQ(resolution(table, options).map_x_nm, 0);
    table.height = 200;
    const Resolution far = resolution(table, options);
    EXPECT_NEAR(far.map_x_nm, 2e8, options.tile_nm);
    EXPECT_EQ(far.map_y_nm, 0);
    EXPECT_LE(far.precision_nm.width, 22);
    EXPECT_TRUE(says(far, "in steps of 12 nm"));
}

TEST(Resolution, of_positions_beyond_the_field_is_limited_by_their_steps) {
    Localizations table = Blinking{}.table();
    for (auto* column : {&table.x_px, &table.y_px})
        for (float& value : *column) value += 1e7f;  // steps of 1 px
    table.width = table.height = 1'000'000;          // the maximum that readers report for such positions
    const Resolution far = resolution(table, {});
    EXPECT_NEAR(far.map_x_nm, 1e7 * table.pixel_size_nm, ResolutionOptions().tile_nm);
    EXPECT_LE(far.precision_nm.width, 22);
    EXPECT_TRUE(says(far, "in steps of 1e+02 nm"));

    Localizations apart = Blinking{}.table();
    apart.x_px[0] = apart.y_px[0] = 1e7f;
    apart.width = apart.height = 1'000'000;
    expect_error<OptionError>([&] { resolution(apart, {}); }, {"filter far-off localizations away", "`tile=506um`"});
}

TEST(Resolution, of_one_place_has_no_ring_correlation) {
    Localizations table = Blinking{}.table();
    for (std::size_t k = 0; k < table.size(); ++k)
        table.x_px[k] = table.y_px[k] = 50, table.frame[k] = std::uint32_t(100 * k);  // none is a blink of another
    const Resolution same = resolution(table, {});
    EXPECT_TRUE(std::isnan(same.frc.resolution.nm));
    EXPECT_TRUE(says(same, "all positions are the same"));
}

TEST(Resolution, ignores_a_row_far_off) {
    const Localizations table = Blinking{}.table();
    for (const float far_px : {-2e5f, 1e12f}) {
        Localizations damaged = table;
        damaged.x_px[7] = far_px;
        const Resolution whole = resolution(table, {}), found = resolution(damaged, {});
        EXPECT_NEAR(found.frc.resolution.nm, whole.frc.resolution.nm, 4 * whole.frc.resolution.error_nm);
        EXPECT_TRUE(says(found, fmt::format("row 8 at x {:.4g}", far_px)));
        EXPECT_TRUE(says(found, "`filter_where="));
        EXPECT_FALSE(says(whole, "far from all others"));
    }
}

TEST(Resolution, warns_of_too_few_blinks) {
    Blinking two;
    two.molecules = 2, two.blinks = 1;
    EXPECT_TRUE(std::isnan(resolution(two.table(), reaching(40)).frc.resolution.nm));
    EXPECT_TRUE(says(resolution(two.table(), reaching(40)), "there are 2 blinks"));
    Blinking some;
    some.molecules = 10, some.blinks = 5;
    const Resolution found = resolution(some.table(), reaching(15));
    EXPECT_GT(found.frc.resolution.nm, 0);
    EXPECT_TRUE(says(found, "blinks, less than 60"));
}

TEST(Fourier, ring_sums_are_those_of_the_points) {
    for (const int edge : {48, 50, 60}) {  // all radices
        const FourierGrid grid{edge};
        std::mt19937_64 random(5);
        std::uniform_real_distribution<float> uniform(float(edge) / 8 + 0.5f,
                                                      float(edge) * 7 / 8 - 0.5f);  // where the window is 1
        std::vector<TilePoint> points;
        for (int k = 0; k < 200; ++k)
            points.push_back({uniform(random), uniform(random), std::uint8_t(k % frc_groups)});
        RingTransform transform(grid);
        transform.sums(points);  // of another tile, which must leave nothing behind
        const RingSums found = transform.sums(points);
        const std::vector<double> sizes = ring_sizes(grid);
        RingSums expected(found.size(), std::array<double, frc_products>{});
        const int last = grid.rings() - 1;
        for (int ky = 0; ky <= last; ++ky)
            for (int kx = ky > 0 ? -last : 1; kx <= last; ++kx) {
                const int ring = int(std::lround(std::hypot(kx, ky)));
                if (ring > last) continue;
                std::array<std::complex<double>, frc_groups> f{};
                for (const TilePoint& p : points)
                    f[p.group] +=
                        std::polar(1.0, -2 * std::numbers::pi * (kx * double(p.x) + ky * double(p.y)) / grid.edge);
                for (int b = 0; b < frc_groups; ++b)
                    for (int a = 0; a <= b; ++a)
                        expected[std::size_t(ring)][std::size_t(frc_product(a, b))] +=
                            (f[std::size_t(a)] * std::conj(f[std::size_t(b)])).real();
            }
        // Images at 1 - q of the grid's frequency add (q / (1 - q))^4 of the amplitude: 6 % of each group's power at
        // the last ring.
        for (std::size_t ring = 1; ring < found.size(); ++ring) {
            const double q = double(ring) / grid.edge, image = std::pow(q / (1 - q), 4),
                         power = 200.0 / frc_groups * sizes[ring];
            for (std::size_t k = 0; k < frc_products; ++k)
                EXPECT_NEAR(found[ring][k], expected[ring][k], 4 * image * power + 1e-4 * power)
                    << edge << " " << ring << " " << k;
        }
    }
}

TEST(Fourier, edges_are_products_of_small_primes) {
    EXPECT_EQ(good_edge(1), 2);
    EXPECT_EQ(good_edge(61), 64);
    EXPECT_EQ(good_edge(1024), 1024);
    EXPECT_EQ(good_edge(101), 108);
}

/// Checks the curve of random molecules, which is known (theory.md, section 14.2).
TEST(Frc, falls_where_theory_says) {
    // N random molecules, each with one blink of n localizations. They are split by rows, so both halves share the
    // molecules. At frequency q, FRC = S / (S + 1), with S = (n / 2) exp(-(2 pi q sigma)^2) for halves of n / 2 on
    // average. It is 1/7 at S = 1/6.
    const int n = 20;
    const double sigma = 10, q = std::sqrt(std::log(3.0 * n)) / (2 * std::numbers::pi * sigma);
    const Blinking places = with(Blinking{}, [&](auto& b) {
        b.molecules = 3000, b.frames = 200000, b.blinks = n, b.length = 1, b.field_nm = 8000;
    });
    const Frc found =
        frc(places.table(), with(FrcOptions{}, [&](auto& o) { o.link_radius_nm = 1e-3, o.finest_nm = 20; }));
    EXPECT_EQ(found.splits, 10);
    EXPECT_EQ(found.units, 60000u);
    // With 3000 molecules and hundreds of pixels per ring, the curve is known to a few hundredths. It falls by 0.14
    // within a tenth of q.
    EXPECT_NEAR(found.resolution.nm, 1 / q, 0.05 / q);
}

// 1/7 is three standard deviations of a chance correlation over 441 Fourier pixels (eq. 14.5).
TEST(Frc, has_no_resolution_that_is_due_to_the_outline) {
    std::mt19937_64 random(3);
    std::uniform_real_distribution<double> uniform(0, 130);
    Localizations table;
    for (int k = 0; k < 85; ++k) {
        table.frame.push_back(0);
        table.x_px.push_back(float(uniform(random))), table.y_px.push_back(float(uniform(random)));
        table.lpx_px.push_back(0.1f), table.lpy_px.push_back(0.1f);
    }
    table.pixel_size_nm = 100, table.frames = 1;
    const Resolution found = resolution(table);
    EXPECT_EQ(found.frc.units, 85u);
    const auto [left, right] = std::minmax_element(table.x_px.begin(), table.x_px.end());
    const auto [top, bottom] = std::minmax_element(table.y_px.begin(), table.y_px.end());
    const double area_nm2 = 1e4 * (std::pow(*right - *left, 2) + std::pow(*bottom - *top, 2)) / 2;
    EXPECT_NEAR(found.frc.coarsest_nm, std::sqrt(std::numbers::pi * area_nm2 / 882), 1e-3);
    EXPECT_TRUE(std::isnan(found.frc.resolution.nm)) << found.frc.resolution.nm;
    EXPECT_TRUE(says(found, "a field of this size cannot distinguish 1/7 from chance"));
    EXPECT_TRUE(says(found, "all rows are of one frame"));
    EXPECT_FALSE(says(found, "linked"));
}

/// Random points in a field with the given edges, one blink each.
Localizations points_at_random(int points, double width_nm, double height_nm, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> uniform(0, 1);
    Localizations table;
    for (int k = 0; k < points; ++k) {
        table.frame.push_back(std::uint32_t(10 * k));
        table.x_px.push_back(float(uniform(random) * width_nm / 100));
        table.y_px.push_back(float(uniform(random) * height_nm / 100));
        table.lpx_px.push_back(0.3f), table.lpy_px.push_back(0.3f);
    }
    table.pixel_size_nm = 100, table.frames = std::uint32_t(10 * points);
    return table;
}

TEST(Frc, of_random_points_has_no_resolution) {
    for (const int points : {1000, 10000, 50000})
        for (const double height_nm : {60000.0, 25000.0}) {  // the second does not fill its tiles
            const Resolution found = resolution(points_at_random(points, 60000, height_nm, std::uint64_t(points)));
            EXPECT_TRUE(std::isnan(found.frc.resolution.nm)) << points << " " << found.frc.resolution.nm;
            if (points < 10000) continue;
            EXPECT_TRUE(found.frc.like_random);
            EXPECT_TRUE(says(found, "as many random points in this field"));
        }
}

TEST(Frc, of_a_structure_is_finer_than_of_random_points) {
    const Frc found = frc(Blinking{}.table());
    EXPECT_GT(found.resolution.nm, 0);
    EXPECT_FALSE(found.like_random);
    EXPECT_TRUE(std::isnan(found.random_nm) || found.resolution.nm < 0.5 * found.random_nm);
}

/// Compares the expectation of eq. 14.6 with the mean of many sets of points.
TEST(Frc, the_power_of_the_outline_agrees_with_theory) {
    constexpr int edge = 60, points = 6000, sets = 40;
    const FourierGrid grid{edge};
    for (const double bottom : {60.0, 35.0}) {
        const std::vector<double> expected = power_of_outline({grid, 0, edge, 5, bottom, {{0, 0, points}}});
        std::mt19937_64 random(8);
        std::uniform_real_distribution<float> x(0, edge), y(5, float(bottom));
        RingTransform transform(grid);
        std::vector<std::vector<double>> found(expected.size());
        for (int k = 0; k < sets; ++k) {
            std::vector<TilePoint> set;
            for (int i = 0; i < points; ++i) set.push_back({x(random), y(random), std::uint8_t(i % frc_groups)});
            const RingSums sums = transform.sums(set);
            for (std::size_t ring = 0; ring < sums.size(); ++ring) {
                double across = 0;  // between halves: nine products of groups; fifteen are known
                for (int b = 0; b < frc_groups; ++b)
                    for (int a = 0; a < b; ++a) across += 9.0 / 15 * sums[ring][std::size_t(frc_product(a, b))];
                found[ring].push_back(across);
            }
        }
        for (std::size_t ring = 1; ring < 8; ++ring) {
            double mean = 0, squares = 0;
            for (double value : found[ring]) mean += value / sets;
            for (double value : found[ring]) squares += (value - mean) * (value - mean);
            EXPECT_NEAR(mean, expected[ring], 4.5 * std::sqrt(squares / (sets - 1) / sets)) << bottom << " " << ring;
        }
        EXPECT_GT(expected[1], 20 * expected[7]);
    }
}

TEST(Frc, of_a_line_does_not_depend_on_its_direction) {
    constexpr double length_nm = 2500;
    const auto along = [&](double degrees) {
        const double c = std::cos(degrees * std::numbers::pi / 180), s = std::sin(degrees * std::numbers::pi / 180);
        const auto place = [=](std::mt19937_64& random) {
            const double at = std::uniform_real_distribution<double>(0, length_nm)(random);
            return std::pair{5000 + c * at, 5000 + s * at};
        };
        return frc(with(Blinking{}, [&](auto& b) {
                       b.molecules = 100, b.blinks = 12, b.length = 2, b.place = place;
                   }).table());
    };
    const Frc first = along(0);
    ASSERT_GT(first.resolution.nm, 0);
    for (const double degrees : {20.0, 45.0, 90.0}) {
        const Frc found = along(degrees);
        // The deviation is the standard deviation over the splits.
        EXPECT_NEAR(found.resolution.nm, first.resolution.nm,
                    4 * std::hypot(found.resolution.error_nm, first.resolution.error_nm));
        // Noise of 10 nm extends 4 standard deviations beyond both ends.
        EXPECT_NEAR(found.coarsest_nm, first.coarsest_nm, first.coarsest_nm * 2 * 80 / length_nm);
    }
}

TEST(Frc, of_exactly_repeating_positions_has_no_resolution_but_other_results_remain) {
    const Resolution found = resolution(with(Blinking{}, [](auto& b) { b.sigma_nm = 0; }).table());
    EXPECT_TRUE(std::isnan(found.frc.resolution.nm));
    EXPECT_TRUE(says(found, "repeat too finely"));
    EXPECT_FALSE(says(found, "far from the first pixel"));
    EXPECT_LT(found.nena.precision.nm, 1e-3);
    EXPECT_GT(found.nena.pairs, 1000u);
}

TEST(Frc, a_blink_stays_in_one_half) {
    // Each molecule blinks once. Halves by blinks share nothing, however long the blinks are. Halves by rows share all
    // molecules.
    const Localizations table =
        with(Blinking{}, [&](auto& b) { b.molecules = 3000, b.blinks = 1, b.length = 10, b.field_nm = 8000; }).table();
    const Frc by_blinks = frc(table, with(FrcOptions{}, [&](auto&o) { o.finest_nm = 25; })),
              by_rows = frc(table, with(FrcOptions{}, [&](auto&o) { o.link_radius_nm = 1e-3, o.finest_nm = 25; }));
    EXPECT_LT(by_blinks.units, 3300u);
    const auto mean = [](const Frc& curve) {
        double sum = 0;
        std::size_t n = 0;
        for (std::size_t k = 0; k < curve.correlation.size(); ++k)
            if (curve.frequency_per_nm[k] > 0.004 && curve.frequency_per_nm[k] < 0.008)
                sum += curve.correlation[k], ++n;
        return sum / double(n);
    };
    EXPECT_LT(std::abs(mean(by_blinks)), 0.05);
    EXPECT_GT(mean(by_rows), 0.5);  // S / (S + 1) with S = 5 exp(-0.25), at most 0.79
}

TEST(Frc, blocks_of_frames_stay_together) {
    const Localizations table = Blinking{}.table();
    const Frc found =
        frc(table,
            with(FrcOptions{}, [&](auto& o) { o.split = FrcSplit::blocks, o.block_frames = 100, o.finest_nm = 60; }));
    EXPECT_EQ(found.units, 40u);
    EXPECT_EQ(found.link_radius_nm, 0);
    EXPECT_THROW(frc(table, with(FrcOptions{}, [&](auto& o) { o.block_frames = 0; })), OptionError);
    EXPECT_THROW(frc(table, with(FrcOptions{}, [&](auto& o) { o.link_radius_nm = -1; })), OptionError);
}

TEST(Frc, refuses_an_enormous_field_and_stops_on_request) {
    Localizations table = with(Blinking{}, [&](auto& b) { b.molecules = 50; }).table();
    StopFlag stop = true;
    EXPECT_TRUE(frc(table, with(FrcOptions{}, [&](auto& o) { o.finest_nm = 60, o.stop = &stop; })).correlation.empty());
    for (std::size_t k = 0; k < table.size(); k += 20) table.x_px[k] = 1e12f;  // more than are left out as damaged
    EXPECT_THROW(frc(table, with(FrcOptions{}, [&](auto& o) { o.finest_nm = 60; })), OptionError);
    EXPECT_TRUE(
        std::isnan(frc(select(table, {}), with(FrcOptions{}, [&](auto& o) { o.link_radius_nm = 10, o.finest_nm = 60; }))
                       .resolution.nm));
}

}  // namespace
