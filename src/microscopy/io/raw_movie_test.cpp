// Picasso's raw movies: byte orders, sizes that do not match, invalid descriptions.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cstring>

#include "glint/error.hpp"
#include "glint/movie_io.hpp"
#include "tests/expect_error.hpp"
#include "tests/temporary_folder.hpp"

using namespace glint;
using test::expect_error;

namespace {

const std::string shape = "Frames: 3\nHeight: 2\nWidth: 4\n";
const std::string uint16_le = "Data Type: uint16\nByte Order: '<'\n" + shape;
constexpr int frame_bytes = 2 * 4 * 2;

std::filesystem::path write_raw(const test::TemporaryFolder& folder, const std::string& yaml,
                                const std::string& bytes) {
    folder.write("movie.yaml", yaml);
    return folder.write("movie.raw", bytes);
}

/// Counts 0x0100, 0x0302, ... in little-endian order.
std::string ramp(std::size_t bytes) {
    std::string out(bytes, '\0');
    for (std::size_t k = 0; k < bytes; ++k) out[k] = char(k);
    return out;
}

}  // namespace

TEST(RawMovie, reads_both_byte_orders) {
    const test::TemporaryFolder folder;
    for (const bool big : {false, true}) {
        const std::string order = big ? "Byte Order: '>'\n" : "Byte Order: '<'\n";
        const auto movie = open_movie(write_raw(folder, "Data Type: uint16\n" + order + shape, ramp(3 * frame_bytes)));
        FrameBlock block;
        movie->read(1, 2, block);
        std::uint16_t count = 0;
        std::memcpy(&count, block.frame(0), sizeof count);
        EXPECT_EQ(count, big ? 0x1011 : 0x1110);
        EXPECT_EQ(movie->info().frames, 3);
        EXPECT_TRUE(movie->info().warnings.empty());
    }
}

TEST(RawMovie, the_last_value_of_a_repeated_key_counts_and_is_reported) {
    const test::TemporaryFolder folder;
    const auto movie =
        open_movie(write_raw(folder, "Width: 9\nPixelsize: 130\nPixelsize: 130\n" + uint16_le, ramp(3 * frame_bytes)));
    EXPECT_EQ(movie->info().width, 4) << "as in PyYAML";
    EXPECT_EQ(movie->info().pixel_size_nm, 130);
    ASSERT_EQ(movie->info().warnings.size(), 1u) << "a key that says the same twice says nothing else";
    EXPECT_NE(movie->info().warnings[0].find("`Width` several times"), std::string::npos) << movie->info().warnings[0];
}

TEST(RawMovie, takes_camera_facts_only_where_they_stand) {
    const test::TemporaryFolder folder;
    const auto bare = open_movie(write_raw(folder, uint16_le, ramp(3 * frame_bytes)));
    EXPECT_FALSE(bare->info().pixel_size_nm || bare->info().offset_adu || bare->info().gain_e_per_adu);
    EXPECT_FALSE(bare->info().em_gain);
    const std::string facts = "Pixelsize: 130\nBaseline: 100\nSensitivity: 0.5\nGain: 30\n---\nPixelsize: 7\n";
    const auto known = open_movie(write_raw(folder, uint16_le + facts, ramp(3 * frame_bytes)));
    EXPECT_EQ(known->info().pixel_size_nm, 130);
    EXPECT_EQ(known->info().offset_adu, 100);
    EXPECT_EQ(known->info().gain_e_per_adu, 0.5);
    EXPECT_EQ(known->info().em_gain, 30);
    const std::string nonsense = "Pixelsize: -1\nBaseline: x\nSensitivity: 0\nGain: [1]\n";
    const auto odd = open_movie(write_raw(folder, uint16_le + nonsense, ramp(3 * frame_bytes)));
    EXPECT_FALSE(odd->info().pixel_size_nm || odd->info().offset_adu || odd->info().gain_e_per_adu);
}

TEST(RawMovie, truncated_file_has_its_complete_frames) {
    const test::TemporaryFolder folder;
    const auto movie = open_movie(write_raw(folder, uint16_le, ramp(2 * frame_bytes + 5)));
    EXPECT_EQ(movie->info().frames, 2);
    ASSERT_EQ(movie->info().warnings.size(), 1u);
    EXPECT_EQ(movie->info().warnings[0],
              "movie.raw: frame 3 of 3 is truncated (expected 16 bytes, found 5); the first 2 frames are usable");
    const auto path = write_raw(folder, uint16_le, ramp(frame_bytes - 1));
    expect_error<InputError>([&] { open_movie(path); }, {"movie.raw", "less than one frame", "3 frames of 4x2"});
}

TEST(RawMovie, bytes_beyond_the_description_are_reported) {
    const test::TemporaryFolder folder;
    const auto movie = open_movie(write_raw(folder, uint16_le, ramp(5 * frame_bytes)));
    EXPECT_EQ(movie->info().frames, 3);
    ASSERT_EQ(movie->info().warnings.size(), 1u);
    EXPECT_NE(movie->info().warnings[0].find("32 bytes beyond"), std::string::npos);
}

TEST(RawMovie, needs_its_description) {
    const test::TemporaryFolder folder;
    const auto path = folder.write("movie.raw", ramp(100));
    expect_error<InputError>([&] { open_movie(path); }, {"movie.raw", "movie.yaml is not beside it"});
}

TEST(RawMovie, refuses_a_description_that_makes_no_sense) {
    const test::TemporaryFolder folder;
    const auto refused = [&](const std::string& yaml, std::initializer_list<const char*> parts) {
        const auto path = write_raw(folder, yaml, ramp(3 * frame_bytes));
        expect_error<InputError>([&] { open_movie(path); }, parts);
    };
    refused("{a: b", {"movie.yaml", "is no YAML"});
    refused("just words", {"has no keys"});
    refused("", {"movie.yaml", "is empty"});
    refused("Byte Order: '<'\n" + shape, {"lacks `Data Type`"});
    refused("Data Type: uint16\n" + shape, {"lacks `Byte Order`"});
    refused("Data Type: uint16\nByte Order: little\n" + shape, {"`Byte Order: little` is neither"});
    refused("Data Type: complex64\n" + shape, {"`Data Type: complex64` is not read"});
    refused("Data Type: uint8\nFrames: many\nHeight: 2\nWidth: 4\n", {"`Frames: many` is no whole number"});
    refused("Data Type: uint8\nFrames: 0\nHeight: 2\nWidth: 4\n", {"`Frames: 0` is outside 1 to"});
    refused("Data Type: uint8\nFrames: 1\nHeight: 2\nWidth: -4\n", {"`Width: -4` is outside"});
    refused("Data Type: uint8\nFrames: 99999999999999999999\nHeight: 2\nWidth: 4\n", {"is outside 1 to"});
    refused("Data Type: float32\nByte Order: '<'\nFrames: 1099511627776\nHeight: 65535\nWidth: 65535\n",
            {"less than one frame"});
}
