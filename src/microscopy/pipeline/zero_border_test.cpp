// Borders of zeros are distinguished from dark frames, on CPU and through a journal. Real movies have none.
// SPDX-License-Identifier: MIT
#include "pipeline/zero_border.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "glint/error.hpp"
#include "glint/localize.hpp"
#include "glint/movie_io.hpp"
#include "simulate/random.hpp"
#include "tests/temporary_folder.hpp"

using namespace glint;

namespace {

constexpr int width = 100, height = 80;

/// Fills a frame with counts of that mean, and zeros where `is_border(x, y)`.
template <class Count, class IsBorder>
std::vector<Count> frame_of(double mean, const IsBorder& is_border) {
    Random random(7, Stream::frame_noise, 0);
    std::vector<Count> frame;
    for (int k = 0; k < width * height; ++k) {
        const auto count = Count(random.poisson(mean));
        frame.push_back(is_border(k % width, k / width) ? Count(0) : count);
    }
    return frame;
}

template <class Count>
bool has_border(const std::vector<Count>& frame, PixelType type) {
    return has_zero_border(reinterpret_cast<const std::byte*>(frame.data()), type, width, height);
}

bool nowhere(int, int) { return false; }

std::unique_ptr<Movie> movie(int first_border) {
    FrameBlock block{0, 20, width, height, PixelType::uint16, {}};
    block.bytes.resize(block.frame_bytes() * 20);
    for (int f = 0; f < 20; ++f) {
        const auto frame = frame_of<std::uint16_t>(100, [&](int x, int) { return f >= first_border && x < 3; });
        std::memcpy(block.bytes.data() + std::size_t(f) * block.frame_bytes(), frame.data(), block.frame_bytes());
    }
    return memory_movie(std::move(block), "registered.tif");
}

}  // namespace

TEST(ZeroBorder, of_frames_that_were_shifted_or_turned) {
    const auto shifted = [](int x, int) { return x >= width - 1; };
    const auto turned = [](int x, int y) { return y < 0.05 * (50 - x) || height - 1 - y < 0.05 * (x - 50); };
    for (const double mean : {4.0, 100.0}) {
        EXPECT_TRUE(has_border(frame_of<std::uint16_t>(mean, shifted), PixelType::uint16));
        EXPECT_TRUE(has_border(frame_of<std::uint16_t>(mean, turned), PixelType::uint16));
        EXPECT_TRUE(has_border(frame_of<std::uint8_t>(mean, shifted), PixelType::uint8));
        EXPECT_TRUE(has_border(frame_of<float>(mean, turned), PixelType::float32));
    }
}

TEST(ZeroBorder, not_of_dark_frames_and_zeros_elsewhere) {
    for (const double mean : {0.0, 0.1, 1.0, 2.0, 10.0})
        EXPECT_FALSE(has_border(frame_of<std::uint16_t>(mean, nowhere), PixelType::uint16)) << mean;
    const auto hole = [](int x, int y) { return std::hypot(x - 50, y - 40) < 10; };
    EXPECT_FALSE(has_border(frame_of<std::uint16_t>(100, hole), PixelType::uint16));
    const auto corner = [](int x, int y) { return x < 3 && y < 3; };  // a time stamp has few pixels
    EXPECT_FALSE(has_border(frame_of<std::uint16_t>(100, corner), PixelType::uint16));
    const auto half = [](int, int y) { return y > 40; };  // an incompletely transferred frame
    EXPECT_FALSE(has_border(frame_of<std::uint16_t>(100, half), PixelType::uint16));
}

TEST(ZeroBorder, is_reported_once_with_the_first_frame) {
    const test::TemporaryFolder folder;
    LocalizeOptions options;
    options.pixel_size_nm = 100, options.psf.sigma_nm = 130;
    options.backend = Backend::cpu, options.memory_bytes = 5 * width * height * 2;  // several blocks
    for (const int first : {20, 13}) {
        std::vector<std::string> warnings;
        options.warn = [&](const std::string& warning) { warnings.push_back(warning); };
        const LocalizeResult result =
            localize(*movie(first), Camera{}, folder / (std::to_string(first) + ".csv"), options);
        EXPECT_EQ(result.zero_border_frames, 20 - first);
        const auto told = [](const std::string& text) { return text.find("border of zeros") != text.npos; };
        ASSERT_EQ(std::count_if(warnings.begin(), warnings.end(), told), first < 20);
        if (first == 20) continue;
        const std::string& text = *std::find_if(warnings.begin(), warnings.end(), told);
        EXPECT_NE(text.find("registered.tif: 7 of 20 frames, the first of them 13, have"), text.npos) << text;
    }
}

TEST(ZeroBorder, not_of_real_movies) {
    const char* folder = std::getenv("GLINT_DATA");
    if (!folder) GTEST_SKIP() << "GLINT_DATA names no folder with movies";
    int movies = 0;
    for (const auto& file : std::filesystem::directory_iterator(folder)) {
        std::unique_ptr<Movie> movie;
        try {
            movie = open_movie(file.path());
        } catch (const Error&) {
            continue;
        }
        ++movies;
        FrameBlock block;
        for (std::int64_t k = 0; k < movie->info().frames; ++k) {
            movie->read(k, 1, block);
            ASSERT_FALSE(has_zero_border(block.frame(0), block.type, block.width, block.height))
                << file.path() << " frame " << k;
        }
    }
    EXPECT_GE(movies, 9);
}
