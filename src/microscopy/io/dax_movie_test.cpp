// DAX movies: byte orders, sizes that do not match, invalid or missing descriptions.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "glint/error.hpp"
#include "glint/movie_io.hpp"
#include "tests/expect_error.hpp"
#include "tests/movie_bytes.hpp"
#include "tests/temporary_folder.hpp"

using namespace glint;
using namespace glint::test;

namespace {

const std::string big = "data type = 16 bit integers (binary, big endian)\n";
const std::string little = "data type = 16 bit integers (binary, little endian)\n";
const std::string shape = "frame dimensions = 4 x 2\nnumber of frames = 3\n";
const auto counts = counting<std::uint16_t>(3 * 4 * 2, 513);

std::filesystem::path write_dax(const TemporaryFolder& folder, const std::string& inf, const std::string& frames,
                                const std::string& extension = ".dax") {
    folder.write("movie.inf", inf);
    return folder.write("movie" + extension, frames);
}

}  // namespace

TEST(DaxMovie, reads_both_byte_orders) {
    const TemporaryFolder folder;
    for (const Order order : {Order::little, Order::big}) {
        const auto path = write_dax(folder, (order == Order::big ? big : little) + "binning = 2 x 2\n" + shape,
                                    bytes_of_numbers(counts, order));
        const auto movie = open_movie(path);
        EXPECT_EQ(movie->info().width, 4);
        EXPECT_EQ(movie->info().height, 2);
        EXPECT_EQ(movie->info().frames, 3);
        EXPECT_EQ(movie->info().type, PixelType::uint16);
        EXPECT_TRUE(movie->info().warnings.empty());
        EXPECT_EQ(movie->info().files, (std::vector{path, folder / "movie.inf"}));
        EXPECT_EQ(pixels<std::uint16_t>(*movie), counts);
    }
}

TEST(DaxMovie, takes_one_pixel_and_wide_frames) {
    const TemporaryFolder folder;
    const auto one = write_dax(folder, big + "frame dimensions = 1 x 1\nnumber of frames = 1\n", "\x01\x02");
    EXPECT_EQ(pixels<std::uint16_t>(*open_movie(one)), (std::vector<std::uint16_t>{0x0102}));
    const auto row = counting<std::uint16_t>(5000);
    const auto wide = write_dax(folder, little + "frame dimensions = 2500 x 1\n", bytes_of_numbers(row));
    EXPECT_EQ(open_movie(wide)->info().height, 1);
    EXPECT_EQ(pixels<std::uint16_t>(*open_movie(wide)), row);
}

TEST(DaxMovie, names_in_capitals_belong_together) {
    const TemporaryFolder folder;
    folder.write("MOVIE.INF", little + shape);
    EXPECT_EQ(open_movie(folder.write("MOVIE.DAX", bytes_of_numbers(counts)))->info().frames, 3);
}

TEST(DaxMovie, reads_the_descriptions_of_version_3) {
    const TemporaryFolder folder;
    const auto path = write_dax(folder,
                                "[INF_header]\r\nINF_version = 3\r\nDAX_data_type = \"uint16_big_endian\"\r\n"
                                "frame_X_size = 4\r\nframe_Y_size = 2\r\nCamera_Model = \"DU897_BV\"\r\n"
                                "Exposure_Time = 0.016\r\nEM_Gain_Mode = \"linear\"\r\nEMCCD_Gain = 100\r\n",
                                bytes_of_numbers(counts, Order::big));
    const auto movie = open_movie(path);
    EXPECT_EQ(movie->info().frames, 3) << "as many as the file holds";
    EXPECT_EQ(movie->info().camera, "DU897_BV");
    EXPECT_DOUBLE_EQ(movie->info().exposure_ms.value(), 16);
    EXPECT_EQ(movie->info().em_gain, 100);
    EXPECT_EQ(pixels<std::uint16_t>(*movie), counts);
}

TEST(DaxMovie, uses_camera_facts_only_if_they_are_clear) {
    const TemporaryFolder folder;
    const auto bare = open_movie(write_dax(folder, little + shape, bytes_of_numbers(counts)));
    EXPECT_FALSE(bare->info().pixel_size_nm || bare->info().exposure_ms || bare->info().em_gain);
    EXPECT_TRUE(bare->info().camera.empty());
    const std::string facts = "EMCCD Gain = 30\nExposure Time = 0.05\ncamera head = DU897_BV\n";
    const auto known = open_movie(write_dax(folder, little + shape + facts, bytes_of_numbers(counts)));
    EXPECT_DOUBLE_EQ(known->info().exposure_ms.value(), 50);
    EXPECT_EQ(known->info().camera, "DU897_BV");
    EXPECT_FALSE(known->info().em_gain) << "a setting whose mode is not known";
}

TEST(DaxMovie, is_no_picasso_raw_and_raw_is_no_dax) {
    const TemporaryFolder folder;
    const std::string yaml = "Data Type: uint8\nFrames: 1\nHeight: 6\nWidth: 8\n";  // as of results beside the movie
    folder.write("movie.yaml", yaml);
    const auto dax = write_dax(folder, little + shape, bytes_of_numbers(counts));
    EXPECT_EQ(open_movie(dax)->info().frames, 3);
    const auto raw = folder.write("movie.raw", bytes_of_numbers(counts));
    EXPECT_EQ(open_movie(raw)->info().width, 8);
    std::filesystem::remove(folder / "movie.inf");
    expect_error<InputError>([&] { open_movie(dax); }, {"movie.dax", "movie.inf is not beside it", "copy it"});
}

TEST(DaxMovie, truncated_file_has_its_complete_frames) {
    const TemporaryFolder folder;
    const auto frames = bytes_of_numbers(counts);
    const auto movie = open_movie(write_dax(folder, little + shape, frames.substr(0, 37)));
    EXPECT_EQ(movie->info().frames, 2);
    EXPECT_EQ(movie->info().warnings,
              (std::vector<std::string>{
                  "movie.dax: frame 3 of 3 is truncated (expected 16 bytes, found 5); the first 2 frames are usable"}));
    const auto path = write_dax(folder, little + shape, frames.substr(0, 15));
    expect_error<InputError>([&] { open_movie(path); },
                             {"movie.dax: has 15 bytes", "less than one frame", "movie.inf"});
}

TEST(DaxMovie, numbers_of_frames_that_do_not_fit_are_reported) {
    const TemporaryFolder folder;
    const auto frames = bytes_of_numbers(counts);
    const auto longer =
        open_movie(write_dax(folder, little + "frame dimensions = 4 x 2\nnumber of frames = 2\n", frames));
    EXPECT_EQ(longer->info().frames, 2);
    ASSERT_EQ(longer->info().warnings.size(), 1u);
    EXPECT_NE(longer->info().warnings[0].find("16 bytes beyond the 2 frames"), std::string::npos);
    const auto none =
        open_movie(write_dax(folder, little + "frame dimensions = 4 x 2\nnumber of frames = 0\n", frames));
    EXPECT_EQ(none->info().frames, 3);
    ASSERT_EQ(none->info().warnings.size(), 1u);
    EXPECT_NE(none->info().warnings[0].find("movie.inf says 0 frames; all 3"), std::string::npos);
}

TEST(DaxMovie, refuses_a_description_that_makes_no_sense) {
    const TemporaryFolder folder;
    const auto refused = [&](const std::string& inf, std::initializer_list<const char*> parts) {
        const auto path = write_dax(folder, inf, bytes_of_numbers(counts));
        expect_error<InputError>([&] { open_movie(path); }, parts);
    };
    refused("nothing here\n", {"movie.inf", "does not say `frame dimensions`", "frame dimensions = WIDTH x HEIGHT"});
    refused(big + "frame dimensions = 4\n", {"`frame dimensions = 4` are no dimensions"});
    refused(big + "frame dimensions = 0 x 2\n", {"`frame dimensions = 0 x 2`", "1 to 65535"});
    refused(big + "frame dimensions = -4 x 2\n", {"-4 x 2"});
    refused(big + "frame dimensions = 4 x 99999999999\n", {"99999999999"});
    refused(shape, {"does not say `data type`"});
    refused(shape + "data type = 32 bit floats (binary, big endian)\n", {"32 bit floats", "is not read"});
    refused(shape + "data type = 16 bit integers\n", {"which byte order"});
    refused(big + "frame dimensions = 4 x 2\nnumber of frames = many\n", {"`number of frames = many` is no number"});
    refused(big + "frame dimensions = 4 x 2\nnumber of frames = 9999999999999\n", {"more than a movie has"});
    refused(big + "frame dimensions = 65535 x 65535\nnumber of frames = 1099511627776\n", {"less than one frame"});
}

TEST(DaxMovie, has_one_channel) {
    const TemporaryFolder folder;
    const auto path = write_dax(folder, little + shape, bytes_of_numbers(counts));
    MovieChoice choice;
    choice.z = 1;
    expect_error<OptionError>([&] { open_movie(path, choice); }, {"movie.dax"});
}
