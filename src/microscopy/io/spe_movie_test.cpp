// SPE movies: pixel types of both versions, footers, regions, invalid headers.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <limits>

#include "glint/error.hpp"
#include "glint/movie_io.hpp"
#include "tests/expect_error.hpp"
#include "tests/movie_bytes.hpp"
#include "tests/temporary_folder.hpp"

using namespace glint;
using namespace glint::test;

namespace {

struct Spe {
    float version = 2.5f, exposure_s = 0;
    std::uint16_t width = 4, height = 2;
    std::int16_t type = 3, regions = 1;
    std::int32_t frames = 3;
    std::uint64_t footer_at = 0;
};

std::string header(const Spe& spe) {
    std::string bytes(4100, '\0');
    put(bytes, 10, spe.exposure_s);
    put(bytes, 42, spe.width);
    put(bytes, 108, spe.type);
    put(bytes, 656, spe.height);
    put(bytes, 678, spe.footer_at);
    put(bytes, 1446, spe.frames);
    put(bytes, 1510, spe.regions);
    put(bytes, 1992, spe.version);
    put(bytes, 2996, 0x01234567);
    put(bytes, 4098, std::uint16_t(0x5555));
    return bytes;
}

std::string region(int width, int height) {
    return fmt::format(R"(<DataBlock type="Region" count="1" width="{}" height="{}" size="16" stride="16"/>)", width,
                       height);
}

std::string footer(const std::string& frame, const std::string& regions) {
    return "<SpeFormat version=\"3.0\" xmlns=\"http://www.princetoninstruments.com/spe/2009\"><DataFormat><DataBlock "
           "type=\"Frame\" " +
           frame + ">" + regions +
           "</DataBlock></DataFormat><DataHistories><Camera model=\"ProEM: 1024B\"/><ExposureTime type=\"Double\"> "
           "50.5 "
           "</ExposureTime></DataHistories></SpeFormat>";
}

const std::string frame_16 = R"(count="3" pixelFormat="MonochromeUnsigned16" size="16" stride="16")";
const auto counts = counting<std::uint16_t>(3 * 4 * 2, 513);

/// Returns a movie as LightField writes it.
std::string light_field(const std::string& frames, const std::string& xml, Spe spe = {.version = 3}) {
    spe.footer_at = 4100 + frames.size();
    return header(spe) + frames + xml;
}

/// Expects that small numbers of type T, written as SPE's `type`, are read unchanged.
template <class T, class Read>
void reads_type(std::int16_t type) {
    const TemporaryFolder folder;
    const auto numbers = counting<T>(3 * 4 * 2, T(7));
    const auto movie = open_movie(folder.write("movie.spe", header({.type = type}) + bytes_of_numbers(numbers)));
    EXPECT_EQ(pixels<Read>(*movie), std::vector<Read>(numbers.begin(), numbers.end())) << type;
    EXPECT_TRUE(movie->info().warnings.empty());
}

}  // namespace

TEST(SpeMovie, reads_all_types) {
    reads_type<float, float>(0);
    reads_type<std::int32_t, float>(1);
    reads_type<std::int16_t, float>(2);
    reads_type<std::uint16_t, std::uint16_t>(3);
    reads_type<double, float>(5);
    reads_type<std::uint8_t, std::uint8_t>(6);
    reads_type<std::uint32_t, float>(8);
}

TEST(SpeMovie, signed_counts_stay_signed) {
    const TemporaryFolder folder;
    const auto path = folder.write("movie.spe", header({.width = 2, .height = 1, .type = 2, .frames = 1}) +
                                                    bytes_of_numbers<std::int16_t>({-32768, 32767}));
    EXPECT_EQ(pixels<float>(*open_movie(path)), (std::vector<float>{-32768, 32767}));
}

TEST(SpeMovie, takes_one_pixel_and_wide_frames) {
    const TemporaryFolder folder;
    const auto one = folder.write("one.spe", header({.width = 1, .height = 1, .frames = 1}) + "ab");
    EXPECT_EQ(pixels<std::uint16_t>(*open_movie(one)), (std::vector<std::uint16_t>{'a' + 256 * 'b'}));
    const auto row = counting<std::uint16_t>(5000);
    const auto wide =
        folder.write("wide.spe", header({.width = 5000, .height = 1, .frames = 1}) + bytes_of_numbers(row));
    EXPECT_EQ(pixels<std::uint16_t>(*open_movie(wide)), row);
}

TEST(SpeMovie, is_recognised_by_either_mark_whatever_its_name) {
    const TemporaryFolder folder;
    std::string old = header({.version = 0}) + bytes_of_numbers(counts), bare = header({}) + bytes_of_numbers(counts);
    put(old, 4098, std::uint16_t(0));
    put(bare, 2996, 0);
    EXPECT_EQ(open_movie(folder.write("old", old))->info().frames, 3);
    EXPECT_EQ(open_movie(folder.write("bare", bare))->info().frames, 3);
    put(bare, 4098, std::uint16_t(0));
    const auto path = folder.write("none.spe", bare);
    expect_error<InputError>([&] { open_movie(path); }, {"none.spe: is no movie"});
}

TEST(SpeMovie, tells_exposure_and_camera_where_they_stand) {
    const TemporaryFolder folder;
    const std::string frames = bytes_of_numbers(counts);
    const auto old = open_movie(folder.write("a.spe", header({.exposure_s = 0.25f}) + frames));
    EXPECT_EQ(old->info().exposure_ms, 250);
    for (const float nonsense : {0.0f, -1.0f, std::numeric_limits<float>::quiet_NaN()})
        EXPECT_FALSE(open_movie(folder.write("a.spe", header({.exposure_s = nonsense}) + frames))->info().exposure_ms);
    const auto later = open_movie(folder.write("a.spe", light_field(frames, footer(frame_16, region(4, 2)))));
    EXPECT_EQ(later->info().exposure_ms, 50.5);
    EXPECT_EQ(later->info().camera, "ProEM: 1024B");
    EXPECT_EQ(pixels<std::uint16_t>(*later), counts);
    EXPECT_TRUE(later->info().warnings.empty());
}

TEST(SpeMovie, skips_what_stands_behind_each_frame) {
    const TemporaryFolder folder;
    std::string frames;
    for (int k = 0; k < 3; ++k)
        frames += bytes_of_numbers(counts).substr(std::size_t(k) * 16, 16) + "12345678";  // a time stamp
    const std::string frame = R"(count="3" pixelFormat="MonochromeUnsigned16" size="16" stride="24")";
    const auto movie = open_movie(folder.write("movie.spe", light_field(frames, footer(frame, region(4, 2)))));
    EXPECT_EQ(pixels<std::uint16_t>(*movie), counts);
    EXPECT_TRUE(movie->info().warnings.empty());
}

TEST(SpeMovie, the_footer_has_the_last_word_on_sizes) {
    const TemporaryFolder folder;
    const auto path = folder.write("movie.spe", light_field(bytes_of_numbers(counts), footer(frame_16, region(4, 2)),
                                                            {.version = 3, .width = 9, .height = 9, .frames = 1}));
    EXPECT_EQ(pixels<std::uint16_t>(*open_movie(path)), counts);
}

TEST(SpeMovie, a_footer_that_is_missing_is_reported) {
    const TemporaryFolder folder;
    for (const std::uint64_t at : {std::uint64_t(0), std::uint64_t(1000000), ~std::uint64_t(0)}) {
        const auto movie =
            open_movie(folder.write("movie.spe", header({.version = 3, .footer_at = at}) + bytes_of_numbers(counts)));
        EXPECT_EQ(pixels<std::uint16_t>(*movie), counts);
        ASSERT_EQ(movie->info().warnings.size(), 1u);
        EXPECT_NE(movie->info().warnings[0].find("footer is missing"), std::string::npos);
    }
}

TEST(SpeMovie, truncated_file_has_its_complete_frames) {
    const TemporaryFolder folder;
    const std::string frames = bytes_of_numbers(counts);
    const auto movie = open_movie(folder.write("movie.spe", header({}) + frames.substr(0, 37)));
    EXPECT_EQ(movie->info().frames, 2);
    EXPECT_EQ(movie->info().warnings,
              (std::vector<std::string>{
                  "movie.spe: frame 3 of 3 is truncated (expected 16 bytes, found 5); the first 2 frames are usable"}));
    const auto none = folder.write("movie.spe", header({}) + frames.substr(0, 15));
    expect_error<InputError>([&] { open_movie(none); }, {"movie.spe", "frame 1 of 3", "no frame is usable"});
}

TEST(SpeMovie, a_footer_is_never_read_as_pixels) {
    const TemporaryFolder folder;
    const std::string xml = footer(frame_16, region(4, 2));
    const auto path = folder.write("movie.spe", light_field(bytes_of_numbers(counts).substr(0, 32), xml));
    const auto movie = open_movie(path);
    EXPECT_EQ(movie->info().frames, 2);
    ASSERT_EQ(movie->info().warnings.size(), 1u);
    EXPECT_NE(movie->info().warnings[0].find("says 3 frames of 16 bytes, and 2 are before its footer"),
              std::string::npos);
    const auto none = folder.write("movie.spe", light_field("", xml));
    expect_error<InputError>([&] { open_movie(none); }, {"movie.spe", "0 are before its footer"});
}

TEST(SpeMovie, refuses_several_regions) {
    const TemporaryFolder folder;
    const auto old = folder.write("old.spe", header({.regions = 2}) + bytes_of_numbers(counts));
    expect_error<InputError>([&] { open_movie(old); }, {"old.spe: has 2 regions of interest", "export each"});
    const auto later =
        folder.write("later.spe", light_field(bytes_of_numbers(counts), footer(frame_16, region(4, 1) + region(2, 2))));
    expect_error<InputError>([&] { open_movie(later); }, {"later.spe: has 2 regions of interest"});
}

TEST(SpeMovie, refuses_headers_that_make_no_sense) {
    const TemporaryFolder folder;
    const auto refused = [&](const std::string& bytes, std::initializer_list<const char*> parts) {
        const auto path = folder.write("movie.spe", bytes);
        expect_error<InputError>([&] { open_movie(path); }, parts);
    };
    const std::string frames = bytes_of_numbers(counts);
    refused(header({.type = 4}) + frames, {"movie.spe", "data type 4", "damaged"});
    refused(header({.type = -1}) + frames, {"data type -1"});
    refused(header({.width = 0}) + frames, {"frames of 0x2 px"});
    refused(header({.height = 0}) + frames, {"frames of 4x0 px"});
    refused(header({.frames = 0}) + frames, {"claims 0 frames"});
    refused(header({.frames = -3}) + frames, {"claims -3 frames"});
    refused(header({.width = 65535, .height = 65535}) + frames, {"movie.spe", "damaged"});
    const auto odd = [&](const std::string& frame) { return light_field(frames, footer(frame, region(4, 2))); };
    refused(odd(R"(count="3" pixelFormat="Monochrome12p" stride="16")"), {"`Monochrome12p`", "TIFF"});
    refused(odd(R"(count="3" pixelFormat="MonochromeUnsigned16" stride="8")"), {"contradict"});
    refused(odd(R"(count="3" pixelFormat="MonochromeUnsigned16" stride="18446744073709551615")"), {"movie.spe"});
    refused(light_field(frames, footer(frame_16, region(-4, 2))), {"-4x2"});
}
