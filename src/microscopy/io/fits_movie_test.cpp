// FITS movies: types and scales, axes, extensions, cards of the camera, invalid headers.
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

std::string card(std::string text) {
    text.resize(80, ' ');
    return text;
}

std::string header(const std::vector<std::string>& cards) {
    std::string out;
    for (const std::string& one : cards) out += card(one);
    out += card("END");
    out.resize((out.size() + 2879) / 2880 * 2880, ' ');
    return out;
}

/// A primary header of 4x2 pixels and 3 frames.
std::string primary(int bitpix, const std::vector<std::string>& more = {}) {
    std::vector<std::string> cards = {"SIMPLE  =                    T / a comment",
                                      "BITPIX  = " + std::to_string(bitpix),
                                      "NAXIS   = 3",
                                      "NAXIS1  = 4",
                                      "NAXIS2  = 2",
                                      "NAXIS3  = 3"};
    cards.insert(cards.end(), more.begin(), more.end());
    return header(cards);
}

template <class T>
std::string padded(const std::vector<T>& numbers) {
    std::string bytes = bytes_of_numbers(numbers, Order::big);
    bytes.resize((bytes.size() + 2879) / 2880 * 2880, '\0');
    return bytes;
}

template <class T>
std::vector<T> some() {
    return counting<T>(3 * 4 * 2, T(7));
}

template <class T, class Read>
void reads_type(int bitpix) {
    const TemporaryFolder folder;
    const auto movie = open_movie(folder.write("movie.fits", primary(bitpix) + padded(some<T>())));
    const auto numbers = some<T>();
    EXPECT_EQ(pixels<Read>(*movie), std::vector<Read>(numbers.begin(), numbers.end())) << bitpix;
    EXPECT_EQ(movie->info().width, 4);
    EXPECT_EQ(movie->info().height, 2);
    EXPECT_TRUE(movie->info().warnings.empty());
}

MovieInfo info_of(const std::string& bytes) {
    const TemporaryFolder folder;
    return open_movie(folder.write("movie.fits", bytes))->info();
}

MovieInfo info_with(const std::vector<std::string>& cards) {
    return info_of(primary(8, cards) + padded(some<std::uint8_t>()));
}

}  // namespace

TEST(FitsMovie, reads_all_types) {
    reads_type<std::uint8_t, std::uint8_t>(8);
    reads_type<std::int16_t, float>(16);
    reads_type<std::int32_t, float>(32);
    reads_type<std::int64_t, float>(64);
    reads_type<float, float>(-32);
    reads_type<double, float>(-64);
}

TEST(FitsMovie, a_zero_of_32768_is_uint16) {
    const TemporaryFolder folder;
    const auto path = folder.write("movie.fits", primary(16, {"BZERO   = 32768.0 / unsigned", "BSCALE  = 1"}) +
                                                     padded(counting<std::int16_t>(3 * 4 * 2, -32768)));
    const auto movie = open_movie(path);
    EXPECT_EQ(movie->info().type, PixelType::uint16);
    EXPECT_EQ(pixels<std::uint16_t>(*movie), counting<std::uint16_t>(3 * 4 * 2, 0));
}

TEST(FitsMovie, scales) {
    const TemporaryFolder folder;
    const auto path =
        folder.write("movie.fits", primary(8, {"BZERO   = -1.5", "BSCALE  = 2.5D-1"}) + padded(some<std::uint8_t>()));
    EXPECT_EQ(pixels<float>(*open_movie(path), 0, 1)[3], 10 * 0.25f - 1.5f);
}

TEST(FitsMovie, takes_pictures_of_two_axes_one_pixel_and_axes_of_one) {
    const auto of_axes = [](const std::vector<int>& axes, std::size_t bytes) {
        std::vector<std::string> cards = {"SIMPLE  = T", "BITPIX  = 8", "NAXIS   = " + std::to_string(axes.size())};
        for (std::size_t k = 0; k < axes.size(); ++k)
            cards.push_back("NAXIS" + std::to_string(k + 1) + "  = " + std::to_string(axes[k]));
        return info_of(header(cards) + std::string(bytes, 'x'));
    };
    EXPECT_EQ(of_axes({1, 1}, 1).frames, 1);
    EXPECT_EQ(of_axes({5000, 1}, 5000).width, 5000);
    EXPECT_EQ(of_axes({2, 3, 1, 4}, 24).frames, 4);
    EXPECT_EQ(of_axes({2, 3, 4, 1, 1}, 24).frames, 4);
    expect_error<InputError>([&] { of_axes({2, 3, 2, 2}, 24); }, {"movie.fits", "2 x 3 x 2 x 2", "save each channel"});
    expect_error<InputError>([&] { of_axes({24}, 24); }, {"NAXIS = 1", "two or three axes"});
    expect_error<InputError>([&] { of_axes({2, 3, 0}, 24); }, {"claims 0 frames"});
    expect_error<InputError>([&] { of_axes({0, 3}, 24); }, {"NAXIS1 = 0; frames have 1 to 65535 px"});
    expect_error<InputError>([&] { of_axes({2, -3}, 24); }, {"NAXIS2 = -3"});
    expect_error<InputError>([&] { of_axes({65536, 3}, 24); }, {"NAXIS1 = 65536"});
    expect_error<InputError>([&] { of_axes({65535, 65535, 2147483647}, 24); }, {"movie.fits"});
}

TEST(FitsMovie, finds_the_first_picture_behind_tables) {
    const TemporaryFolder folder;
    const std::string nothing = header({"SIMPLE  = T", "BITPIX  = 8", "NAXIS   = 0", "EXTEND  = T"});
    const std::string table = header({"XTENSION= 'BINTABLE'", "BITPIX  = 8", "NAXIS   = 2", "NAXIS1  = 100",
                                      "NAXIS2  = 40", "PCOUNT  = 7", "GCOUNT  = 1"}) +
                              std::string(2 * 2880, '\1');
    std::string picture = primary(16) + padded(some<std::int16_t>());
    picture.replace(0, 80, card("XTENSION= 'IMAGE   '           / a picture"));
    const auto movie = open_movie(folder.write("movie.fits", nothing + table + picture));
    EXPECT_EQ(pixels<float>(*movie, 0, 1)[0], 7);
    EXPECT_TRUE(movie->info().warnings.empty());
    const auto two = info_of(nothing + picture + picture);
    ASSERT_EQ(two.warnings.size(), 1u);
    EXPECT_NE(two.warnings[0].find("movie.fits: has further pictures"), std::string::npos);
    expect_error<InputError>([&] { info_of(nothing + table); }, {"movie.fits: has no picture"});
}

TEST(FitsMovie, compressed_tiles_are_reported_with_a_way_out) {
    const std::string nothing = header({"SIMPLE  = T", "BITPIX  = 8", "NAXIS   = 0"});
    const std::string tiles = header({"XTENSION= 'BINTABLE'", "BITPIX  = 8", "NAXIS   = 2", "NAXIS1  = 8",
                                      "NAXIS2  = 4", "PCOUNT  = 0", "GCOUNT  = 1", "ZIMAGE  =                    T"});
    expect_error<InputError>([&] { info_of(nothing + tiles + std::string(2880, 'x')); },
                             {"movie.fits", "compressed tiles", "funpack -O movie.fits"});
}

TEST(FitsMovie, reports_the_camera_only_if_its_cards_are_clear) {
    const auto bare = info_with({"GAIN    = 300 / EM gain", "EXPTIME = 0", "XPIXSZ  = 16.0"});
    EXPECT_FALSE(bare.pixel_size_nm || bare.exposure_ms || bare.gain_e_per_adu || bare.em_gain);
    EXPECT_TRUE(bare.camera.empty());
    const auto known =
        info_with({"EXPTIME = 5.0E-02 / s", "INSTRUME= 'O''Neill / 1  ' / camera", "GAIN    = 0.46 / [e-/ADU]"});
    EXPECT_DOUBLE_EQ(known.exposure_ms.value(), 50);
    EXPECT_EQ(known.camera, "O'Neill / 1");
    EXPECT_EQ(known.gain_e_per_adu, 0.46);
    EXPECT_EQ(info_with({"EGAIN   = 1.5", "GAIN    = 100"}).gain_e_per_adu, 1.5);
    EXPECT_FALSE(info_with({"GAIN    = 2 / ADU per e-"}).gain_e_per_adu);
    EXPECT_EQ(info_with({"GAIN    = 2 / electrons per ADU"}).gain_e_per_adu, 2);
}

TEST(FitsMovie, blanks_are_reported) {
    const auto info = info_with({"BLANK   = 255"});
    ASSERT_EQ(info.warnings.size(), 1u);
    EXPECT_NE(info.warnings[0].find("BLANK = 255"), std::string::npos);
}

TEST(FitsMovie, truncated_file_has_its_complete_frames) {
    const std::string bytes = primary(8) + padded(some<std::uint8_t>());
    const auto info = info_of(bytes.substr(0, 2880 + 21));
    EXPECT_EQ(info.frames, 2);
    EXPECT_EQ(info.warnings,
              (std::vector<std::string>{
                  "movie.fits: frame 3 of 3 is truncated (expected 8 bytes, found 5); the first 2 frames are usable"}));
    EXPECT_EQ(info_of(bytes.substr(0, 2880 + 24)).frames, 3) << "without the padding of the last block";
    expect_error<InputError>([&] { info_of(bytes.substr(0, 2880 + 7)); }, {"frame 1 of 3", "no frame is usable"});
    expect_error<InputError>([&] { info_of(bytes.substr(0, 500)); }, {"movie.fits", "breaks off within its header"});
}

TEST(FitsMovie, refuses_headers_that_make_no_sense) {
    const auto refused = [&](const std::vector<std::string>& cards, std::initializer_list<const char*> parts) {
        expect_error<InputError>([&] { info_of(header(cards) + std::string(2880, 'x')); }, parts);
    };
    const std::string simple = "SIMPLE  = T", eight = "BITPIX  = 8";
    refused({simple, eight}, {"movie.fits", "lacks NAXIS"});
    refused({simple, eight, "NAXIS   = many"}, {"NAXIS = many is no whole number"});
    refused({simple, eight, "NAXIS   = 3", "NAXIS1  = 4", "NAXIS2  = 2"}, {"lacks NAXIS3"});
    refused({simple, eight, "NAXIS   = 1000000000"}, {"NAXIS = 1000000000"});
    refused({simple, "BITPIX  = 12", "NAXIS   = 2", "NAXIS1  = 4", "NAXIS2  = 2"}, {"BITPIX = 12"});
    refused({simple, eight, "NAXIS   = 2", "NAXIS1  = 4", "NAXIS2  = 2", "BSCALE  = 0"}, {"BSCALE = 0"});
    refused({simple, eight, "NAXIS   = 2", "NAXIS1  = 4", "NAXIS2  = 2", "BZERO   = x"}, {"BZERO = x"});
    std::string endless;
    for (int k = 0; k < 4097 * 36; ++k) endless += card(k == 0 ? simple : "COMMENT");
    expect_error<InputError>([&] { info_of(endless); }, {"movie.fits", "has no end"});
    const std::string huge = header({simple, eight, "NAXIS   = 0"}) +
                             header({"XTENSION= 'BINTABLE'", eight, "NAXIS   = 2", "NAXIS1  = 9223372036854775807",
                                     "NAXIS2  = 9223372036854775807"});
    expect_error<InputError>([&] { info_of(huge); }, {"movie.fits", "more data than any file holds"});
}
