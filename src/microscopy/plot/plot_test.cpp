// Tests of ticks, of what figures draw where, and of files of figures.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>

#include "glint/error.hpp"
#include "glint/picture_io.hpp"
#include "plot/raster.hpp"
#include "plot/stroke_font.hpp"
#include "plot/svg.hpp"
#include "plot/ticks.hpp"
#include "plot/write_figure.hpp"
#include "tests/expect_error.hpp"
#include "tests/temporary_folder.hpp"

namespace glint::plots {
namespace {

using namespace test;

std::vector<std::string> texts_of(const std::vector<Tick>& ticks) {
    std::vector<std::string> texts;
    for (const Tick& tick : ticks)
        if (!tick.text.empty()) texts.push_back(tick.text);
    return texts;
}

/// The sum of what is missing to white, in pixels of black.
double ink(RgbPicture picture) {
    double sum = 0;
    for (const std::uint8_t value : picture.rgb) sum += (255 - value) / (3 * 255.0);
    return sum;
}

int darkness(RgbPicture& picture, int x, int y) { return 255 - *picture.at(x, y); }

constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();

}  // namespace

TEST(Ticks, are_round_numbers) {
    EXPECT_EQ(texts_of(linear_ticks(0, 10, 5)), (std::vector<std::string>{"0", "2", "4", "6", "8", "10"}));
    EXPECT_EQ(texts_of(linear_ticks(-0.31, 0.31, 4)), (std::vector<std::string>{"-0.2", "0.0", "0.2"}));
    EXPECT_EQ(texts_of(linear_ticks(0, 0.0004, 4)),
              (std::vector<std::string>{"0", "0.0001", "0.0002", "0.0003", "0.0004"}));
    EXPECT_TRUE(linear_ticks(1, 1, 5).empty());
    EXPECT_TRUE(linear_ticks(0, std::numeric_limits<double>::infinity(), 5).empty());
    EXPECT_TRUE(linear_ticks(nan_value, 1, 5).empty());
}

TEST(Ticks, of_logarithms_are_powers_of_ten) {
    EXPECT_EQ(texts_of(log_ticks(0.5, 2000, 6)), (std::vector<std::string>{"1", "10", "100", "1000"}));
    EXPECT_EQ(texts_of(log_ticks(15, 90, 6)), (std::vector<std::string>{"20", "50"}));
    EXPECT_EQ(texts_of(log_ticks(1, 1e12, 4)).size(), 4u) << "every fourth";
    EXPECT_TRUE(log_ticks(0, 10, 4).empty());
}

TEST(Raster, areas_have_their_area) {
    Raster raster(40, 40, 2);
    raster.area(std::vector<Point>{{10.25, 10}, {20.5, 10}, {20.5, 30.125}, {10.25, 30.125}}, {});
    EXPECT_NEAR(ink(raster.take()), 4 * 10.25 * 20.125, 0.5);  // of 2 x 2 pixels a px
}

TEST(Raster, lines_have_their_width) {
    Raster raster(60, 60, 1);
    raster.line(std::vector<Point>{{10, 10}, {50, 40}}, {{}, 3, false});
    // A length of 50, and half a circle at each end.
    EXPECT_NEAR(ink(raster.take()), 50 * 3 + 0.25 * 3.1416 * 9, 3);
    Raster dashed(200, 20, 1);
    dashed.line(std::vector<Point>{{10, 10}, {190, 10}}, {{}, 2, true});
    EXPECT_NEAR(ink(dashed.take()), (4 + 0.79 * 2 / 2) / 7.0 * 180 * 2, 40) << "four of seven, with round ends";
}

TEST(Raster, clips_and_blends) {
    Raster raster(20, 20, 1);
    raster.clip({5, 5, 10, 10});
    raster.area(std::vector<Point>{{0, 0}, {20, 0}, {20, 20}, {0, 20}}, {0, 0, 0, 0.5});
    EXPECT_NEAR(ink(raster.take()), 50, 1);
    Raster empty(20, 20, 1);
    empty.line({}, {}), empty.area({}, {}), empty.dots({}, 3, {}), empty.text({}), empty.cells({});
    EXPECT_EQ(ink(empty.take()), 0);
}

TEST(StrokeFont, has_all_characters_of_ascii) {
    const auto is_box = [](std::string_view text) {
        const auto lines = text_lines(text), box = text_lines("\xE2\x98\x83");  // a snowman
        return lines.size() == 1 && lines[0].size() == box[0].size() && lines[0][2].x == box[0][2].x &&
               lines[0][2].y == box[0][2].y;
    };
    EXPECT_TRUE(is_box("\xE2\x98\x83"));
    for (char c = '!'; c <= '~'; ++c) {
        const std::string text(1, c);
        EXPECT_GT(text_width(text), 0) << c;
        EXPECT_FALSE(text_lines(text).empty() || is_box(text)) << c;
    }
    for (const char* text : {"µ", "±", "°", "²", "–"}) EXPECT_FALSE(is_box(text)) << text;
    EXPECT_EQ(text_width(""), 0);
    EXPECT_GT(text_width("\xFF\xC3"), 0) << "damaged UTF-8";
    EXPECT_GT(text_width("WW"), 2 * text_width("W")) << "a gap between";
}

TEST(Figure, draws_data_where_the_axes_say) {
    Panel panel;
    panel.x.low = 0, panel.x.high = 10, panel.y.low = 0, panel.y.high = 10, panel.has_grid = false;
    panel.dots.push_back({{{5, 2}}, black, "", 4});
    panel.x.has_numbers = panel.y.has_numbers = false;
    const Figure figure{120, 120, {{panel, {10, 10, 100, 100}}}, {}};
    RgbPicture picture = draw(figure, 1);
    EXPECT_EQ(darkness(picture, 60, 90), 255);
    EXPECT_EQ(darkness(picture, 60, 30), 0);
    panel.y.is_reversed = true;
    picture = draw({120, 120, {{panel, {10, 10, 100, 100}}}, {}}, 1);
    EXPECT_EQ(darkness(picture, 60, 30), 255);
    EXPECT_EQ(darkness(picture, 60, 90), 0);
}

TEST(Figure, leaves_out_what_is_not_finite) {
    Panel panel;
    panel.curves.push_back({{{0, 1}, {1, nan_value}, {2, 3}, {std::numeric_limits<double>::infinity(), 1}}, blue, "a"});
    panel.bands.push_back({{0, 1, 2}, {0, nan_value, 1}, {1, 2, 3}});
    panel.bars.push_back({{{0, nan_value}, {1, 2}}, 1, blue, ""});
    panel.heats.push_back({{nan_value, 1, 2, 3}, 2});
    EXPECT_EQ(to_svg(figure_of({panel}, 400, 300)).find("nan"), std::string::npos);
    EXPECT_GT(ink(draw(figure_of({panel}, 400, 300), 1)), 10);
    for (Panel none : {Panel{}, panel}) {
        none.y.is_log = none.x.is_log = true;
        const std::string svg = to_svg(figure_of({none}, 400, 300));
        EXPECT_EQ(svg.find("nan"), std::string::npos);
        EXPECT_EQ(svg.find("inf"), std::string::npos);
    }
}

TEST(Figure, bars_that_touch_are_one_area) {
    Panel panel;
    panel.bars.push_back({{{0, 1}, {1, 2}, {2, 1}, {5, 1}}, 1, blue, ""});
    const std::string svg = to_svg(figure_of({panel}, 400, 300));
    std::size_t areas = 0;
    for (std::size_t at = svg.find("fill=\"#0072b2\""); at != svg.npos; at = svg.find("fill=\"#0072b2\"", at + 1))
        ++areas;
    EXPECT_EQ(areas, 2u);
}

TEST(Figure, texts_of_svg_are_texts) {
    Panel panel;
    panel.title = "a < b & c > \"d\" \x01";
    const std::string svg = to_svg(figure_of({panel}, 400, 300));
    EXPECT_NE(svg.find("a &lt; b &amp; c &gt; \"d\" </text>"), svg.npos);
}

TEST(Figure, files_are_png_or_svg) {
    const TemporaryFolder folder;
    const Figure figure = figure_of({Panel{}}, 200, 160);
    write_figure(folder / "a.png", figure);
    EXPECT_EQ(read_png(folder / "a.png").width, 300);
    write_figure(folder / "a.SVG", figure);
    std::ifstream in(folder / "a.SVG");
    const std::string text(std::istreambuf_iterator<char>(in), {});
    EXPECT_TRUE(text.starts_with("<svg") && text.ends_with("</svg>\n"));
    expect_error<OptionError>([&] { write_figure(folder / "a.pdf", figure); }, {".png or .svg", "print the .svg"});
    const Figure other = figure_of({Panel{}}, 210, 160);
    expect_error<Error>([&] { write_figure(folder / "a.png", other, IfExists::refuse); }, {"a.png"});
    expect_error<Error>([&] { write_figure(folder / "none/a.svg", figure); }, {"none/a.svg"});
}

}  // namespace glint::plots
