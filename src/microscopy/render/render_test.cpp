// Tests of densities: each localization adds up to one, at its position, with its width, for any number of threads.
// SPDX-License-Identifier: MIT
#include "glint/render.hpp"

#include <gtest/gtest.h>
#include <tbb/global_control.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <random>

#include "glint/error.hpp"
#include "tests/cut_table.hpp"
#include "tests/expect_error.hpp"

using namespace glint;
using namespace glint::test;

namespace {

Localizations random_table(std::size_t n, int edge_px) {
    std::mt19937 random(1);
    std::uniform_real_distribution<float> at(2, float(edge_px) - 3), precision(0.02f, 0.2f);
    Localizations table;
    for (std::size_t k = 0; k < n; ++k) {
        table.frame.push_back(std::uint32_t(k));
        table.x_px.push_back(at(random)), table.y_px.push_back(at(random));
        table.lpx_px.push_back(precision(random)), table.lpy_px.push_back(precision(random));
        table.z_nm.push_back(20 * at(random));
    }
    table.width = table.height = edge_px;
    table.pixel_size_nm = 100;
    return table;
}

Localizations one_at(float x_px, float y_px, float precision_px) {
    Localizations table;
    table.frame = {0};
    table.x_px = {x_px}, table.y_px = {y_px};
    table.lpx_px = table.lpy_px = {precision_px};
    table.width = 8, table.height = 6;
    table.pixel_size_nm = 100;
    return table;
}

double sum(const Picture& picture) { return std::accumulate(picture.values.begin(), picture.values.end(), 0.0); }

}  // namespace

TEST(Render, every_localization_inside_counts_once) {
    Localizations table = random_table(3000, 40);
    for (RenderMode mode : {RenderMode::histogram, RenderMode::gaussian})
        EXPECT_NEAR(sum(render(table, {.mode = mode})), 3000, 0.01);
    table.x_px[0] = -0.6f, table.x_px[1] = 39.5f, table.y_px[2] = NAN;
    table.y_px[3] = std::numeric_limits<float>::infinity(), table.x_px[4] = -1e30f;
    EXPECT_EQ(sum(render(table, {.mode = RenderMode::histogram})), 2995);
    table.lpx_px[0] = table.lpx_px[1] = 0.01f;  // drawn with 0.05 px, so nothing reaches pixels farther in
    table.x_px[0] = -0.71f, table.x_px[1] = 39.71f;
    EXPECT_NEAR(sum(render(table, {})), 2995, 0.01);
}

TEST(Render, histogram_puts_a_localization_into_its_pixel) {
    const Picture picture = render(one_at(2.0f, 3.0f, 0.1f), {.mode = RenderMode::histogram, .zoom = 4});
    ASSERT_EQ(picture.width, 32);
    ASSERT_EQ(picture.height, 24);
    EXPECT_DOUBLE_EQ(picture.pixel_size_nm, 25);
    EXPECT_EQ(picture.values[14 * 32 + 10], 1) << "the centre of camera pixel 2 is 10 picture pixels from the edge";
    EXPECT_EQ(sum(picture), 1);
}

TEST(Render, a_gaussian_has_the_width_of_its_precision) {
    const Picture picture = render(one_at(3.55f, 2.5f, 0.3f), {.picture_pixel_nm = 10});
    double x = 0, xx = 0;
    for (int k = 0; k < int(picture.values.size()); ++k) {
        x += picture.values[k] * (k % picture.width + 0.5);
        xx += picture.values[k] * std::pow(k % picture.width + 0.5, 2);
    }
    EXPECT_NEAR(x, 40.5, 1e-3);
    EXPECT_NEAR(xx - x * x, 9 + 1.0 / 12, 0.02);
    const int middle = 30 * picture.width + 40;
    const double expected = std::erf(0.5 / 3 / std::sqrt(2)) * std::erf(1 / 3.0 / std::sqrt(2)) / 2;
    EXPECT_NEAR(picture.values[middle], expected, 2e-6);
}

TEST(Render, a_precision_that_is_none_gives_the_smallest_blur) {
    const Picture sharp = render(one_at(3, 3, 0), {});
    EXPECT_NEAR(sum(sharp), 1, 1e-5);
    for (float bad : {NAN, -1.0f, std::numeric_limits<float>::infinity()})
        EXPECT_EQ(render(one_at(3, 3, bad), {}).values, sharp.values);
    EXPECT_LT(sum(render(one_at(3, 3, 1e30f), {})), 1e-3) << "spread far beyond the picture";
}

TEST(Render, is_the_same_for_any_number_of_threads) {
    const Localizations table = random_table(20000, 60);
    const RenderOptions options{.color = RenderColor::z};
    const std::vector<float> values = render(table, {}).values;
    const std::vector<std::uint8_t> rgb = render_rgb(table, options).rgb;
    tbb::global_control one(tbb::global_control::max_allowed_parallelism, 1);
    EXPECT_EQ(values, render(table, {}).values);
    EXPECT_EQ(rgb, render_rgb(table, options).rgb);
}

TEST(Render, nothing_gives_a_black_picture) {
    Localizations none;
    EXPECT_EQ(render(none, {.zoom = 10}).values, std::vector<float>(100, 0.0f));
    none.width = none.height = 20, none.pixel_size_nm = 100;
    for (bool color_z : {false, true}) {
        RgbPicture picture =
            render_rgb(none, {.zoom = 10, .color = color_z ? RenderColor::z : RenderColor::density, .scale_bar_nm = 0});
        EXPECT_EQ(picture.width, 200);
        EXPECT_LE(*std::max_element(picture.rgb.begin(), picture.rgb.end()), 4) << "inferno begins at (0, 0, 4)";
    }
}

TEST(Render, without_a_size_the_positions_give_it) {
    Localizations table = one_at(6.2f, 3.9f, 0.1f);
    table.width = table.height = 0;
    const Picture picture = render(table, {.zoom = 10});
    EXPECT_EQ(picture.width, 70);
    EXPECT_EQ(picture.height, 50);
}

TEST(Render, refuses_with_the_way_out) {
    Localizations far = one_at(1e9f, 0, 0.1f);
    far.width = 0;
    try {
        render(far, {});
        FAIL();
    } catch (const OptionError& error) {
        EXPECT_NE(std::string(error.what()).find("`zoom="), std::string::npos);
    }
    try {
        render(one_at(2, 2, 0.1f), {.picture_pixel_nm = 1e-3});
        FAIL();
    } catch (const OptionError& error) {
        EXPECT_NE(std::string(error.what()).find("take picture pixels of"), std::string::npos) << error.what();
    }
    const Localizations table = one_at(1, 1, 0.1f);
    EXPECT_EQ(render(table, {.zoom = 50, .max_edge_px = 400}).width, 400);
    EXPECT_THROW(render(table, {.zoom = 50.1, .max_edge_px = 400}), OptionError);
    EXPECT_THROW(render(table, {.zoom = 1e300}), OptionError);
    EXPECT_THROW(render(table, {.zoom = -1}), OptionError);
    EXPECT_THROW(render(table, {.zoom = NAN}), OptionError);
    EXPECT_THROW(render(table, {.picture_pixel_nm = -5}), OptionError);
    EXPECT_THROW(render_rgb(table, {.colormap = "jet"}), OptionError);
    EXPECT_THROW(render_rgb(table, {.color = RenderColor::z}), OptionError);
    EXPECT_THROW(render_rgb(table, {.saturate_percent = 100}), OptionError);
    EXPECT_THROW(render_rgb(table, {.scale_bar_nm = 5000}), OptionError);
    Localizations bare = table;
    bare.lpx_px.clear(), bare.lpy_px.clear(), bare.pixel_size_nm = 0;
    EXPECT_THROW(render(bare, {}), OptionError);
    EXPECT_THROW(render(bare, {.mode = RenderMode::histogram, .picture_pixel_nm = 10}), OptionError);
    EXPECT_NEAR(sum(render(bare, {.min_blur_px = 1})), 1, 1e-5);
    EXPECT_EQ(sum(render(bare, {.mode = RenderMode::histogram})), 1);
}

TEST(Render, z_gives_the_hue_and_density_the_brightness) {
    Localizations table = one_at(1, 1, 0.1f);
    table.frame = {0, 0, 0, 0}, table.x_px = {1, 4, 6, 6}, table.y_px = {1, 1, 1, 1},
    table.z_nm = {-300, 300, NAN, 300};
    table.lpx_px = table.lpy_px = {0, 0, 0, 0};
    RgbPicture picture = render_rgb(table, {.mode = RenderMode::histogram,
                                            .zoom = 1,
                                            .color = RenderColor::z,
                                            .z_min_nm = -300,
                                            .z_max_nm = 300,
                                            .colormap = "turbo",
                                            .saturate_percent = 0});
    const auto color = [&](int x) { return std::vector<int>(picture.at(x, 1), picture.at(x, 1) + 3); };
    EXPECT_EQ(color(1), (std::vector<int>{0x30, 0x12, 0x3b})) << "turbo's lowest";
    EXPECT_EQ(color(4), (std::vector<int>{0x7a, 0x04, 0x03})) << "turbo's highest";
    EXPECT_EQ(color(6), color(4)) << "a NaN counts neither as hue nor as density";
    EXPECT_EQ(color(0), (std::vector<int>{0, 0, 0}));
    for (int x : {1, 4}) {  // by default, turbo without its dark ends
        picture = render_rgb(
            table, {.mode = RenderMode::histogram, .zoom = 1, .color = RenderColor::z, .saturate_percent = 0});
        const std::vector<int> rgb = color(x);
        EXPECT_GT(*std::max_element(rgb.begin(), rgb.end()), 190);
    }
}

TEST(Colorize, the_brightest_share_is_saturated) {
    Picture density{1000, 1, 0, std::vector<float>(1000, 0.0f)};
    for (int k = 0; k < 200; ++k) density.values[k] = float(k + 1);
    const RgbPicture picture = colorize(density, {.colormap = "gray", .saturate_percent = 10});
    EXPECT_EQ(picture.rgb[3 * 199], 255);
    EXPECT_EQ(picture.rgb[3 * 180], 255);
    EXPECT_LT(picture.rgb[3 * 170], 255);
    EXPECT_EQ(picture.rgb[3 * 89], 128) << "half of the 90th percentile";
    EXPECT_EQ(picture.rgb[3 * 500], 0);
}

TEST(Render, a_region_is_a_part_of_the_whole) {
    const Localizations table = random_table(5000, 40);
    const Picture whole = render(table, {.zoom = 4});
    // Camera coordinates begin at -0.5 px, so the region begins at picture pixel (20, 40).
    const Picture part = render(table, {.zoom = 4, .region = {4.5, 12.5, 9.5, 14.5}});
    ASSERT_EQ(part.width, 32);
    ASSERT_EQ(part.height, 20);
    EXPECT_EQ(part.pixel_size_nm, whole.pixel_size_nm);
    for (int y = 0; y < 20; ++y)
        for (int x = 0; x < 32; ++x)
            ASSERT_NEAR(part.values[std::size_t(y * 32 + x)], whole.values[std::size_t((y + 40) * 160 + x + 20)], 1e-5);
    const RenderRegion odd{4.3, 12.1, 9.2, 14.9};  // ends within picture pixels, which are drawn whole
    WholeTable rows(table);
    TablePieces* const tables[] = {&rows};
    EXPECT_EQ(sum(render(table, {.mode = RenderMode::histogram, .zoom = 3, .region = odd})),
              rows_in_region(tables, {4.3, 4.3 + 24 / 3.0, 9.2, 9.2 + 18 / 3.0}));
    EXPECT_EQ(sum(render(table, {.zoom = 4, .region = {100, 101, 100, 101}})), 0)
        << "beyond the camera there is nothing";
    EXPECT_THROW(render(table, {.region = {5, 5, 0, 1}}), OptionError);
    EXPECT_THROW(render(table, {.region = {0, 1, 2, 1}}), OptionError);
    EXPECT_THROW(render(table, {.region = {0, NAN, 0, 1}}), OptionError);
    EXPECT_THROW(render(table, {.region = {0, 1e9, 0, 1}}), OptionError);
}

// A molecule whose centre is just outside has a part of its light inside: outside a region, or outside the camera.
TEST(Render, localizations_beyond_the_edge_reach_into_the_picture) {
    const auto share = [](double from, double to, double centre, double sigma) {
        return 0.5 * (std::erf((to - centre) / sigma / std::numbers::sqrt2) -
                      std::erf((from - centre) / sigma / std::numbers::sqrt2));
    };
    Localizations table = one_at(10, 10, 0.5f);
    table.frame = {0, 0}, table.x_px = {10, 11.6f}, table.y_px = {10, 10.3f};
    table.lpx_px = {0.5f, 0.5f}, table.lpy_px = {0.5f, 0.25f};
    table.width = table.height = 32;
    const double inside = share(8.5, 11.5, 10, 0.5) * share(8.5, 11.5, 10, 0.5) +
                          share(8.5, 11.5, 11.6f, 0.5) * share(8.5, 11.5, 10.3f, 0.25);
    EXPECT_NEAR(sum(render(table, {.zoom = 10, .region = {8.5, 11.5, 8.5, 11.5}})), inside, 1e-3);
    table.width = 12, table.height = 11;  // the camera ends at 11.5 and 10.5
    EXPECT_NEAR(
        sum(render(table, {.zoom = 10})),
        share(0, 11.5, 10, 0.5) * share(0, 10.5, 10, 0.5) + share(0, 11.5, 11.6f, 0.5) * share(0, 10.5, 10.3f, 0.25),
        1e-3);
}

TEST(Render, tiles_join_to_the_whole_picture) {
    Localizations table = random_table(3000, 41);  // also beyond the camera's last pixel
    table.width = table.height = 40;
    table.frames = 1000;
    for (std::size_t k = 0; k < table.size(); ++k) {
        table.frame[k] = std::uint32_t(k % 1000), table.z_nm[k] = float(k % 700) - 350;
        table.lpx_px[k] *= 5, table.x_px[k] -= 1;
        if (k < 200) table.x_px[k] = 15, table.y_px[k] = 15;  // each compared part contains the brightest position
    }
    RenderOptions options{.zoom = 4, .saturate_percent = 0, .scale_bar_nm = 0};
    const Picture whole = render(table, options);
    ASSERT_EQ(whole.width, 160);
    for (int row = 0; row < 4; ++row)
        for (int column = 0; column < 4; ++column) {
            const double x = 10 * column - 0.5, y = 10 * row - 0.5;
            options.region = {x, x + 10, y, y + 10};
            const Picture tile = render(table, options);
            ASSERT_EQ(tile.width, 40);
            for (int j = 0; j < 40; ++j)
                for (int i = 0; i < 40; ++i)
                    ASSERT_NEAR(tile.values[std::size_t(40 * j + i)],
                                whole.values[std::size_t(160 * (40 * row + j) + 40 * column + i)], 1e-4)
                        << row << column << ' ' << i << ' ' << j;
        }
    const auto picture = [&](RenderColor color, const RenderRegion& region, bool channels) {
        options.color = color, options.region = region;
        const Localizations both[] = {table, table};
        return channels ? render_channels(both, options) : render_rgb(table, options);
    };
    for (const bool channels : {false, true})
        for (const RenderColor color : {RenderColor::z, RenderColor::frame, RenderColor::density}) {
            if (channels && color != RenderColor::density) continue;
            RgbPicture all = picture(color, {}, channels), part = picture(color, {9.5, 19.5, 9.5, 24.5}, channels);
            ASSERT_EQ(part.height, 60);
            for (int j = 0; j < 60; ++j)
                for (int i = 0; i < 40; ++i)
                    for (int c = 0; c < 3; ++c)
                        ASSERT_NEAR(part.at(i, j)[c], all.at(40 + i, 40 + j)[c], 1)
                            << int(color) << channels << i << ' ' << j;
        }
}

TEST(Render, small_fields_and_regions_have_1000_pixels_by_default) {
    Localizations table = one_at(10, 10, 0.1f);
    table.width = 64, table.height = 32;
    EXPECT_EQ(render(table, {}).width, 1024);
    EXPECT_EQ(render(table, {}).height, 512);
    EXPECT_EQ(render(table, {.region = {8, 12, 9, 11}}).width, 1000);
    table.width = 512;
    EXPECT_EQ(render(table, {}).width, 5120);
}

TEST(Render, one_width_for_all_or_corrected_precisions) {
    const auto width_nm = [](const RenderOptions& options) {
        Localizations table = one_at(16, 16, 0.1f);
        table.width = table.height = 32;
        const Picture picture = render(table, options);
        double x = 0, xx = 0;
        for (int k = 0; k < int(picture.values.size()); ++k) {
            const double at = (k % picture.width + 0.5) * picture.pixel_size_nm;
            x += picture.values[std::size_t(k)] * at, xx += picture.values[std::size_t(k)] * at * at;
        }
        return std::sqrt(xx - x * x);
    };
    EXPECT_NEAR(width_nm({.zoom = 40}), 10, 0.3);  // with the width of a picture pixel of 2.5 nm
    EXPECT_NEAR(width_nm({.zoom = 40, .blur_factor = 3}), 30, 0.3);
    EXPECT_NEAR(width_nm({.zoom = 40, .blur_nm = 45}), 45, 0.3);
    Localizations bare = one_at(1, 1, 0.1f);
    bare.lpx_px.clear(), bare.lpy_px.clear();
    EXPECT_NEAR(sum(render(bare, {.blur_nm = 20})), 1, 0.01) << "which needs no precision";
    bare.pixel_size_nm = 0;
    expect_error<OptionError>([&] { render(bare, {.blur_nm = 20}); }, {"pixel size"});
    EXPECT_THROW(render(one_at(1, 1, 0.1f), {.blur_nm = -1}), OptionError);
    EXPECT_THROW(render(one_at(1, 1, 0.1f), {.blur_factor = 0}), OptionError);
}

TEST(Render, colours_of_tables_have_names) {
    EXPECT_EQ(channel_color_names(2, {}), (std::vector<std::string>{"magenta", "green"}));
    EXPECT_EQ(channel_color_names(1, {.channel_colors = {"red", "blue"}}), (std::vector<std::string>{"red"}));
    EXPECT_THROW(channel_color_names(2, {.channel_colors = {"red"}}), OptionError);
}

TEST(Render, frames_give_the_hue) {
    Localizations table = one_at(1, 1, 0.1f);
    table.frame = {0, 50, 99}, table.x_px = {1, 3, 5}, table.y_px = {1, 1, 1}, table.frames = 100;
    table.lpx_px = table.lpy_px = {0, 0, 0};
    RgbPicture picture = render_rgb(table, {.mode = RenderMode::histogram,
                                            .zoom = 1,
                                            .color = RenderColor::frame,
                                            .colormap = "gray",
                                            .saturate_percent = 0,
                                            .scale_bar_nm = 0});
    EXPECT_EQ(*picture.at(1, 1), 0) << "the movie's first frame";
    EXPECT_EQ(*picture.at(3, 1), 129) << "50 / 99 of 255";
    EXPECT_EQ(*picture.at(5, 1), 255) << "its last one";
}

TEST(Render, tells_the_range_of_its_colours) {
    Localizations table = one_at(1, 1, 0.1f);
    table.frame = {0, 50, 99}, table.x_px = {1, 3, 5}, table.y_px = {1, 1, 1}, table.frames = 200;
    WholeTable whole(table);
    EXPECT_EQ(color_range(whole, {.color = RenderColor::frame}), std::pair(0.0, 199.0));
    Localizations first = one_at(1, 1, 0.1f);
    first.frames = 1;
    WholeTable of_one_frame(first);
    EXPECT_EQ(color_range(of_one_frame, {.color = RenderColor::frame}), std::pair(0.0, 0.0));
    const RgbPicture picture = render_rgb(of_one_frame, {.zoom = 1, .color = RenderColor::frame});
    EXPECT_GT(*std::max_element(picture.rgb.begin(), picture.rgb.end()), 100) << "it is drawn";
    EXPECT_THROW(color_range(whole, {.color = RenderColor::z}), OptionError);
    EXPECT_THROW(color_range(whole, {}), OptionError);
    table.z_nm.clear();
    for (int k = 0; k < 3; ++k) table.z_nm.push_back(float(100 * k));
    EXPECT_EQ(color_range(whole, {.color = RenderColor::z, .z_min_nm = -5, .z_max_nm = 7}), std::pair(-5.0, 7.0));
    constexpr double far = std::numeric_limits<double>::infinity(), most = std::numeric_limits<double>::max();
    for (const auto& [from, to] :
         {std::pair(-far, far), {0.0, far}, {-far, 0.0}, {double(NAN), 1.0}, {-most, most}, {0.0, 1.1e6}})
        expect_error<OptionError>(
            [&] { color_range(whole, {.color = RenderColor::z, .z_min_nm = from, .z_max_nm = to}); }, {"a range of z"});
    const auto [low, high] = color_range(whole, {.color = RenderColor::z});
    EXPECT_EQ(low, 0);
    EXPECT_EQ(high, 100) << "the 99th percentile of three is the second";
}

TEST(Render, counts_the_rows_of_a_region) {
    Localizations table = one_at(1, 1, 0.1f);
    table.frame = {0, 0, 0}, table.x_px = {1, 3, 5}, table.y_px = {1, 2, 3}, table.pixel_size_nm = 100;
    WholeTable whole(table);
    TablePieces* const tables[] = {&whole};
    EXPECT_EQ(rows_in_region(tables, {}), 3u);
    EXPECT_EQ(rows_in_region(tables, {1, 5, 0, 10}), 2u) << "the end is excluded";
    expect_error<OptionError>(
        [&] {
            rows_in_region(tables, {10, 20, 0, 1});
        },
        {"1:2um,0:0.1um", "they lie in 0.1:0.5um,0.1:0.3um"});
    const Localizations none;
    WholeTable whole_none(none);
    TablePieces* const empty[] = {&whole_none};
    EXPECT_EQ(rows_in_region(empty, {10, 20, 0, 1}), 0u);
}

TEST(Render, a_region_without_rows_is_reported_in_the_length_that_any_table_knows) {
    Localizations without = one_at(1, 1, 0.1f), with = without;
    without.pixel_size_nm = 0, with.pixel_size_nm = 100;
    WholeTable first(without), second(with);
    TablePieces* const tables[] = {&first, &second};
    expect_error<OptionError>([&] { rows_in_region(tables, {5, 6, 5, 6}); }, {"the region 0.5:0.6um,0.5:0.6um"});
}

TEST(Render, channels_have_colours_and_contrasts_of_their_own) {
    Localizations a = one_at(1, 1, 0), b = one_at(3, 1, 0);
    a.frame = {0, 0, 0}, a.x_px = {1, 1, 4}, a.y_px = {1, 1, 1}, a.lpx_px = a.lpy_px = {0, 0, 0};
    b.frame = {0, 0}, b.x_px = {3, 4}, b.y_px = {1, 1}, b.lpx_px = b.lpy_px = {0, 0};
    const std::vector<Localizations> both = {a, b};
    const RenderOptions options{.mode = RenderMode::histogram, .zoom = 1, .saturate_percent = 0, .scale_bar_nm = 0};
    RgbPicture picture = render_channels(both, options);
    const auto color = [&](int x) { return std::vector<int>(picture.at(x, 1), picture.at(x, 1) + 3); };
    EXPECT_EQ(color(0), (std::vector<int>{0, 0, 0}));
    EXPECT_EQ(color(1), (std::vector<int>{255, 0, 255}));
    EXPECT_EQ(color(3), (std::vector<int>{0, 255, 0}));
    EXPECT_EQ(color(4), (std::vector<int>{128, 255, 128})) << "half of magenta's brightness, all of green's";
    RenderOptions named = options;
    named.channel_colors = {"red", "yellow"};
    picture = render_channels(both, named);
    EXPECT_EQ(color(4), (std::vector<int>{255, 255, 0})) << "colours add up to 255 at most";
    named.channel_colors = {"red"};
    EXPECT_THROW(render_channels(both, named), OptionError);
    named.channel_colors = {"red", "mauve"};
    EXPECT_THROW(render_channels(both, named), OptionError);
    std::vector<Localizations> other = both;
    other[1].pixel_size_nm = 99;
    EXPECT_THROW(render_channels(other, options), OptionError);
    EXPECT_THROW(render_channels(std::vector<Localizations>(7, a), options), OptionError);
    EXPECT_EQ(render_channels(std::vector<Localizations>(6, a), options).width, 8);
}

TEST(Render, pieces_of_a_large_table_add_up) {
    Localizations table = random_table(1000, 12);
    Localizations large;
    for (int k = 0; k < 1100; ++k) append(large, table);  // more rows than a piece has
    const std::vector<float> one = render(table, {.zoom = 2}).values, many = render(large, {.zoom = 2}).values;
    // The error of a sequential sum of n floats is at most n 2^-24 of the sum. Less than a tenth of the dots reach a
    // pixel.
    const double bound = 0.1 * double(large.size()) * 0x1p-24;
    for (std::size_t k = 0; k < one.size(); ++k) ASSERT_NEAR(many[k], 1100 * one[k], bound * 1100 * one[k] + 1e-30);
}

TEST(Render, tables_in_pieces_give_the_same_picture) {
    Localizations table = random_table(1000, 12);
    table.frames = 0;
    for (std::size_t k = 0; k < table.size(); ++k)
        table.frame[k] = std::uint32_t(k), table.z_nm[k] = float((k * 37) % 500);
    CutTable cut(table, 99);
    EXPECT_EQ(render(cut, {}).values, render(table, {}).values);
    for (const RenderColor color : {RenderColor::density, RenderColor::z, RenderColor::frame})
        EXPECT_EQ(render_rgb(cut, {.color = color}).rgb, render_rgb(table, {.color = color}).rgb) << int(color);
    TablePieces* const two[] = {&cut, &cut};
    EXPECT_EQ(render_channels(two, {}).rgb, render_channels(std::vector{table, table}, {}).rgb);
}
