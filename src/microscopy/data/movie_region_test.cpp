// Regions of frames: their contents, and rejected regions.
// SPDX-License-Identifier: MIT
#include "glint/movie_region.hpp"

#include <gtest/gtest.h>

#include "glint/error.hpp"
#include "tests/expect_error.hpp"

using namespace glint;
using test::expect_error;

namespace {

/// Pixel (x, y) of frame k has the value 100 k + 10 y + x.
std::unique_ptr<Movie> movie_of_numbers(int frames, int width, int height) {
    FrameBlock block{.count = frames, .width = width, .height = height, .type = PixelType::uint8, .bytes = {}};
    for (int k = 0; k < frames; ++k)
        for (int y = 0; y < height; ++y)
            for (int x = 0; x < width; ++x) block.bytes.push_back(std::byte(100 * k + 10 * y + x));
    return memory_movie(std::move(block));
}

}  // namespace

TEST(MovieRegion, has_the_pixels_of_the_region) {
    const auto region = crop_movie(movie_of_numbers(2, 6, 5), {2, 1, 3, 2});
    EXPECT_EQ(region->info().width, 3);
    EXPECT_EQ(region->info().height, 2);
    EXPECT_EQ(region->info().planes, "region 2,1,3,2");
    FrameBlock block;
    region->read(0, 2, block);
    const std::vector<int> expected{12, 13, 14, 22, 23, 24, 112, 113, 114, 122, 123, 124};
    for (std::size_t k = 0; k < expected.size(); ++k) EXPECT_EQ(int(block.bytes[k]), expected[k]) << k;
    std::vector<std::byte> one(6);
    region->read_to(1, 1, one.data());
    for (std::size_t k = 0; k < one.size(); ++k) EXPECT_EQ(int(one[k]), expected[6 + k]) << k;
    expect_error<OptionError>([&] { region->read(1, 2, block); }, {"frames 1:3 asked of 2"});
}

TEST(MovieRegion, must_be_inside) {
    for (const PixelRegion bad :
         {PixelRegion{4, 0, 3, 1}, PixelRegion{0, 4, 1, 2}, PixelRegion{-1, 0, 1, 1}, PixelRegion{0, 0, 0, 1},
          PixelRegion{1, 1, 2147483647, 2147483647}, PixelRegion{2147483647, 0, 1, 1}})
        expect_error<OptionError>([&] { crop_movie(movie_of_numbers(1, 6, 5), bad); },
                                  {"is not inside its frames of 6x5 px"});
    EXPECT_EQ(crop_movie(movie_of_numbers(1, 6, 5), {0, 0, 6, 5})->info().width, 6);
}
