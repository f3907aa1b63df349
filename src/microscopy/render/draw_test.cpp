// Tests of colour maps, text, circles and the scale bar, pixel by pixel.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "glint/error.hpp"
#include "glint/render.hpp"
#include "render/annotations.hpp"
#include "render/colormap.hpp"

using namespace glint;

namespace {

constexpr std::uint8_t white[3] = {255, 255, 255};

RgbPicture black(int width, int height) { return {width, height, 0, std::vector<std::uint8_t>(3 * width * height, 0)}; }

/// Returns the picture as text, with # for lit pixels.
std::string lit(RgbPicture picture) {
    std::string text;
    for (int y = 0; y < picture.height; ++y, text += '\n')
        for (int x = 0; x < picture.width; ++x) text += *picture.at(x, y) ? '#' : '.';
    return text;
}

struct Published {
    const char* name;
    struct {
        int step;
        Rgb rgb;
    } colors[7];
};

// Values of matplotlib 3.11.
const Published published[] = {
    {"inferno",
     {{0, {0, 0, 4}},
      {33, {35, 12, 76}},
      {81, {114, 26, 110}},
      {127, {186, 54, 85}},
      {198, {251, 153, 6}},
      {244, {241, 241, 121}},
      {255, {252, 255, 164}}}},
    {"magma",
     {{0, {0, 0, 4}},
      {33, {30, 17, 73}},
      {81, {107, 29, 129}},
      {127, {181, 54, 122}},
      {198, {253, 148, 103}},
      {244, {253, 233, 170}},
      {255, {252, 253, 191}}}},
    {"viridis",
     {{0, {68, 1, 84}},
      {33, {71, 46, 124}},
      {81, {50, 100, 142}},
      {127, {33, 144, 141}},
      {198, {108, 205, 90}},
      {244, {226, 228, 24}},
      {255, {253, 231, 37}}}},
    {"cividis",
     {{0, {0, 34, 78}},
      {33, {28, 57, 111}},
      {81, {84, 90, 109}},
      {127, {124, 123, 120}},
      {198, {194, 179, 105}},
      {244, {245, 220, 65}},
      {255, {254, 232, 56}}}},
    {"turbo",
     {{0, {48, 18, 59}},
      {33, {71, 110, 230}},
      {81, {24, 222, 192}},
      {127, {161, 253, 61}},
      {198, {246, 108, 25}},
      {244, {158, 16, 1}},
      {255, {122, 4, 3}}}},
};

}  // namespace

TEST(Colormap, agrees_with_matplotlib) {
    for (const Published& map : published) {
        const Colormap colormap(map.name);
        for (const auto& [step, rgb] : map.colors)
            for (int c = 0; c < 3; ++c) EXPECT_NEAR(colormap(step / 255.0)[c], rgb[c], 2) << map.name << " " << step;
    }
}

TEST(Colormap, gray_is_linear_and_values_out_of_range_are_clipped) {
    const Colormap gray("gray");
    for (int k = 0; k < 256; ++k) EXPECT_EQ(gray(k / 255.0), (Rgb{std::uint8_t(k), std::uint8_t(k), std::uint8_t(k)}));
    EXPECT_EQ(gray(-1), gray(0));
    EXPECT_EQ(gray(NAN), gray(0));
    EXPECT_EQ(gray(std::numeric_limits<double>::infinity()), gray(1));
    EXPECT_THROW(Colormap("jet"), OptionError);
}

TEST(Draw, letters_have_their_pixels) {
    RgbPicture picture = black(12, 7);
    draw_text(picture, 0, 0, "1µ", 1, white);
    EXPECT_EQ(lit(picture),
              "..#.........\n"
              ".##.........\n"
              "..#...#...#.\n"
              "..#...#...#.\n"
              "..#...#..##.\n"
              "..#...###.#.\n"
              ".###..#.....\n");
    RgbPicture large = black(10, 14);
    draw_text(large, 0, 0, "1", 2, white);
    for (int y = 0; y < 14; ++y)
        for (int x = 0; x < 10; ++x) EXPECT_EQ(*large.at(x, y), *picture.at(x / 2, y / 2));
}

TEST(Draw, text_is_as_wide_as_it_says_and_clipped) {
    EXPECT_EQ(text_width("2 µm", 1), 23);
    EXPECT_EQ(text_width("", 3), 0);
    RgbPicture picture = black(5, 5);
    draw_text(picture, -3, -2, "glint \xF0\x9F\x98\x80\xC2", 1, white);  // beyond all edges, an emoji, half a character
    draw_text(picture, std::numeric_limits<int>::max(), std::numeric_limits<int>::max(), "x", 3, white);
    EXPECT_EQ(picture.rgb.size(), 75u);
}

TEST(Draw, a_circle_is_one_pixel_wide) {
    RgbPicture picture = black(9, 9);
    draw_circle(picture, 4, 4, 3, white);
    EXPECT_EQ(lit(picture),
              ".........\n"
              "...###...\n"
              "..#...#..\n"
              ".#.....#.\n"
              ".#.....#.\n"
              ".#.....#.\n"
              "..#...#..\n"
              "...###...\n"
              ".........\n");
    for (double bad : {1e300, double(NAN)}) {
        draw_circle(picture, bad, 4, 3, white);
        draw_circle(picture, 4, 4, bad, white);
    }
}

TEST(Draw, a_cross_ends_at_its_arms_and_at_the_edge) {
    RgbPicture picture = black(7, 5);
    draw_cross(picture, 2.2, 1.8, 1, white);
    draw_cross(picture, 6, 4, 1, white);
    EXPECT_EQ(lit(picture),
              ".......\n"
              "..#....\n"
              ".###...\n"
              "..#...#\n"
              ".....##\n");
    for (double bad : {1e300, -1e300, double(NAN)}) {
        draw_cross(picture, bad, 4, 3, white);
        draw_cross(picture, 4, bad, 3, white);
        draw_cross(picture, 4, 4, bad, white);
    }
}

TEST(ScaleBar, has_a_length_that_people_read) {
    EXPECT_DOUBLE_EQ(fitting_scale_bar_nm(12800), 2000);
    EXPECT_DOUBLE_EQ(fitting_scale_bar_nm(6000), 1000);
    EXPECT_DOUBLE_EQ(fitting_scale_bar_nm(51200), 10000);
    EXPECT_DOUBLE_EQ(fitting_scale_bar_nm(3300), 500);
    EXPECT_EQ(scale_bar_label(500), "500 nm");
    EXPECT_EQ(scale_bar_label(2000), "2 µm");
}

TEST(ScaleBar, is_as_long_as_it_says_and_inside) {
    for (int edge : {100, 640, 1280}) {
        RgbPicture picture = black(edge, edge);
        picture.pixel_size_nm = 10;
        const double length_nm = fitting_scale_bar_nm(edge * 10);
        draw_scale_bar(picture, -1);
        int longest = 0;
        for (int y = 0; y < edge; ++y) {
            int run = 0;
            for (int x = 0; x < edge; ++x) longest = std::max(longest, run = *picture.at(x, y) ? run + 1 : 0);
            EXPECT_EQ(*picture.at(0, y), 0);
            EXPECT_EQ(*picture.at(edge - 1, y), 0);
        }
        EXPECT_EQ(longest, int(std::lround(length_nm / 10)));
    }
}

TEST(ScaleBar, is_left_out_when_it_cannot_be_chosen) {
    RgbPicture picture = black(100, 100);
    draw_scale_bar(picture, -1);
    EXPECT_EQ(picture.rgb, black(100, 100).rgb);
    EXPECT_THROW(draw_scale_bar(picture, 100), OptionError);
    picture.pixel_size_nm = 10;
    draw_scale_bar(picture, 0);
    EXPECT_EQ(picture.rgb, black(100, 100).rgb);
    EXPECT_THROW(draw_scale_bar(picture, 1001), OptionError);
    EXPECT_THROW(draw_scale_bar(picture, NAN), OptionError);
}
