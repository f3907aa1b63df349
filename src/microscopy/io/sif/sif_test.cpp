// SIF movies: versions of the header, areas and bins, accumulated frames, other data sets, files that are damaged.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <cstring>

#include "glint/error.hpp"
#include "glint/movie_io.hpp"
#include "tests/expect_error.hpp"
#include "tests/movie_bytes.hpp"
#include "tests/temporary_folder.hpp"

using namespace glint;
using namespace glint::test;
using namespace std::string_literals;

namespace {

/// A file as Solis writes it: text, and single bytes that are not text.
struct Sif {
    int version = 65567, accumulations = 1, signal = 1;
    std::string exposure = "0.03", values = "Counts", user_text = "\x01\x0a 65538 text\n";
    int left = 11, top = 22, right = 14, bottom = 21, vertical_bin = 1, horizontal_bin = 1;
    int areas = 1;
    std::int64_t frames = 3, pixels_of_frame = 8, all_pixels = -1;
    int times = -1;                       ///< lines of times; -1: one per frame
    std::string flags = "0\n";            ///< behind the times
    std::string behind = "0\n0\n0\n0\n";  ///< behind the pixels: other data sets

    std::string settings() const {
        return fmt::format("{} 0 0 1 1540956289 -70 ", version) + "\x01 \x00 \x20 \x00 \x01 "s +
               fmt::format("0 {} 0.03 0.03 {} ", exposure, accumulations) + "\x00 "s +
               "0.031 1e-07 512 1 300 0 0 0 1 1 \x00 \x01 256 0 1 0 1 1 2 0 0 0 30 0 3.3e-06 0 5.1 8765 0 1 -70 1 0 1 "
               "0 4 30 "
               "30061 0 0 2 104 30061 0 0 0 15\n"s;
    }
    std::string header() const {
        std::string out = "Andor Technology Multi-Channel File\n" + fmt::format("65538 {}\n", signal) + settings();
        out += "DU897_BV\n512 512 14\nC:\\data\\m\xc3\xbc.sif \n";
        out += fmt::format("65538 {}\n{}", user_text.size(), user_text) + "\n65538 \x01 \x00 \x01 \x00 20 0\n"s;
        out +=
            "65540 0 0 500 0 0 1200 0 1\n0 0\n65539 \x01 \x00 \x01 \x00 \x01 \x00\n0 1 0 0\n0 1 0 0\n"
            "0 1 0 0\n0\n16\n16\n"s;
        out += fmt::format("12\nPixel number{}\n{}12\nPixel number", values.size(), values);
        const std::int64_t all = all_pixels < 0 ? frames * pixels_of_frame : all_pixels;
        out += fmt::format("65541 1 512 512 1 {} {} {} {}\n", frames, areas, all, pixels_of_frame);
        for (int k = 0; k < areas; ++k)
            out += fmt::format("65538 {} {} {} {} {} {} 0\n", left, top, right, bottom, vertical_bin, horizontal_bin);
        for (std::int64_t k = 0; k < (times < 0 ? frames : times); ++k) out += fmt::format("{:10}\n", k * 30000);
        return out + flags;
    }
    std::string bytes(const std::vector<float>& pixels) const { return header() + bytes_of_numbers(pixels) + behind; }
};

const auto counts = counting<float>(3 * 4 * 2, 100.25f);

std::vector<float> read(const TemporaryFolder& folder, const std::string& bytes) {
    const auto movie = open_movie(folder.write("movie.sif", bytes));
    EXPECT_TRUE(movie->info().warnings.empty()) << movie->info().warnings[0];
    return pixels<float>(*movie);
}

}  // namespace

TEST(SifMovie, has_the_frames_in_the_order_of_the_file) {
    const TemporaryFolder folder;
    const auto movie = open_movie(folder.write("m\xc3\xbc.sif", Sif{}.bytes(counts)));
    const MovieInfo& info = movie->info();
    EXPECT_EQ(info.width, 4);
    EXPECT_EQ(info.height, 2);
    EXPECT_EQ(info.frames, 3);
    EXPECT_EQ(info.type, PixelType::float32);
    EXPECT_EQ(info.camera, "DU897_BV");
    EXPECT_DOUBLE_EQ(*info.exposure_ms, 30);
    EXPECT_FALSE(info.em_gain);  // the unit of the header's number depends on the camera's mode
    EXPECT_TRUE(info.warnings.empty());
    EXPECT_EQ(pixels<float>(*movie), counts);
    EXPECT_EQ(pixels<float>(*movie, 1, 1), std::vector<float>(counts.begin() + 8, counts.begin() + 16));
}

TEST(SifMovie, knows_what_stands_between_times_and_pixels) {
    const TemporaryFolder folder;
    EXPECT_EQ(read(folder, Sif{.version = 65547, .flags = ""}.bytes(counts)), counts);
    EXPECT_EQ(read(folder, Sif{.flags = "1\n30000\n30001\n30002\n"}.bytes(counts)), counts);
    // Pixels whose bytes read as a flag.
    std::vector<float> like_flag = counts;
    std::memcpy(&like_flag[0], "0\n\x80\x47", 4);
    EXPECT_EQ(read(folder, Sif{.flags = ""}.bytes(like_flag)), like_flag);
}

TEST(SifMovie, knows_a_signal_with_a_background_behind_it) {
    const TemporaryFolder folder;
    const std::string more = Sif{}.bytes(counts);
    EXPECT_EQ(read(folder, Sif{.behind = "1\n" + more.substr(more.find("65567"))}.bytes(counts)), counts);
}

TEST(SifMovie, divides_areas_by_bins) {
    const TemporaryFolder folder;
    const Sif binned{.left = 1, .top = 15, .right = 9, .bottom = 10, .vertical_bin = 3, .horizontal_bin = 2};
    const auto movie = open_movie(folder.write("movie.sif", binned.bytes(counts)));
    EXPECT_EQ(movie->info().width, 4);  // the ninth column is left out
    EXPECT_EQ(movie->info().height, 2);
    const Sif flipped{.left = 14, .top = 21, .right = 11, .bottom = 22};
    EXPECT_EQ(read(folder, flipped.bytes(counts)), counts);
}

TEST(SifMovie, sums_of_exposures_and_values_that_are_no_counts_are_reported) {
    const TemporaryFolder folder;
    const auto summed = open_movie(folder.write("movie.sif", Sif{.accumulations = 5}.bytes(counts)));
    EXPECT_DOUBLE_EQ(*summed->info().exposure_ms, 150);
    ASSERT_EQ(summed->info().warnings.size(), 1u);
    EXPECT_NE(summed->info().warnings[0].find("each frame is the sum of 5 exposures"), std::string::npos);
    const auto electrons = open_movie(folder.write("movie.sif", Sif{.values = "Electrons"}.bytes(counts)));
    ASSERT_EQ(electrons->info().warnings.size(), 1u);
    EXPECT_NE(electrons->info().warnings[0].find("are `Electrons`"), std::string::npos);
    const auto corrected = open_movie(folder.write("movie.sif", Sif{.values = "Counts (BG corrected)"}.bytes(counts)));
    ASSERT_EQ(corrected->info().warnings.size(), 1u);
    EXPECT_NE(corrected->info().warnings[0].find("a background was subtracted"), std::string::npos);
}

TEST(SifMovie, truncated_file_has_its_complete_frames) {
    const TemporaryFolder folder;
    const std::string whole = Sif{}.bytes(counts);
    const auto movie = open_movie(folder.write("movie.sif", whole.substr(0, whole.size() - 8 - 5)));
    EXPECT_EQ(movie->info().frames, 2);
    ASSERT_EQ(movie->info().warnings.size(), 1u);
    EXPECT_NE(movie->info().warnings[0].find("frame 3 of 3 is truncated (expected 32 bytes, found 27)"),
              std::string::npos);
    const auto none = folder.write("movie.sif", Sif{}.header());
    expect_error<InputError>([&] { open_movie(none); }, {"movie.sif: frame 1 of 3", "no frame is usable"});
}

TEST(SifMovie, a_header_that_breaks_off_is_refused) {
    const TemporaryFolder folder;
    const std::string header = Sif{}.header();
    for (std::size_t n = 36; n < header.size(); n += 3) {
        const auto path = folder.write("movie.sif", header.substr(0, n));
        expect_error<InputError>([&] { open_movie(path); }, {"movie.sif"});
    }
}

TEST(SifMovie, refuses_what_contradicts_itself) {
    const TemporaryFolder folder;
    const auto refused = [&](const Sif& sif, std::initializer_list<const char*> parts) {
        const auto path = folder.write("movie.sif", sif.bytes(counts));
        expect_error<InputError>([&] { open_movie(path); }, parts);
    };
    refused({.areas = 2}, {"movie.sif", "2 sub-images", "export"});
    refused({.areas = 0}, {"does not say the sizes"});
    refused({.signal = 0}, {"does not contain a signal"});
    refused({.frames = 0}, {"says 0 frames", "damaged"});
    refused({.frames = -3}, {"says -3 frames"});
    refused({.frames = std::int64_t(1) << 60, .all_pixels = 1, .times = 0}, {"in all"});
    refused({.frames = std::int64_t(1) << 50, .all_pixels = std::int64_t(1) << 53, .times = 3},
            {"the time of frame 5 of 1125899906842624 is missing"});
    refused({.pixels_of_frame = 9}, {"4x2 px, and of 9 pixels"});
    refused({.all_pixels = 25}, {"25 in all"});
    refused({.right = 2000000000}, {"says an area"});
    refused({.vertical_bin = 0}, {"says an area"});
    refused({.horizontal_bin = 5}, {"says an area"});
}
