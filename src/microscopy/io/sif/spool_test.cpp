// Spooled frames of Andor Solis: order of files, packed pixels, missing or short files, invalid descriptions.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>

#include "glint/error.hpp"
#include "glint/movie_io.hpp"
#include "tests/expect_error.hpp"
#include "tests/movie_bytes.hpp"
#include "tests/temporary_folder.hpp"

using namespace glint;
using namespace glint::test;

namespace {

/// Frames of 3x2 px with consecutive pixel values through the movie.
struct Spool {
    std::string encoding = "Mono16";
    int width = 3, height = 2, stride = 8, frame_bytes = 20, frames_of_file = 1;

    std::string description() const {
        return fmt::format(
            "\xef\xbb\xbf[data]\r\nAOIHeight = {}\r\nAOIWidth = {}\r\nAOIStride = {}\r\nPixelEncoding = {}\r\n"
            "ImageSizeBytes = {}\r\n\r\n[multiimage]\r\nImagesPerFile = {}\r\n",
            height, width, stride, encoding, frame_bytes, frames_of_file);
    }
    /// Packs frames with gaps after each row and each frame.
    template <class T>
    std::string frame(int number) const {
        std::string out;
        for (int y = 0; y < height; ++y) {
            std::string row = bytes_of_numbers(counting<T>(std::size_t(width), T(1000 + 6 * number + width * y)));
            row.resize(std::size_t(stride), 'g');
            out += row;
        }
        out.resize(std::size_t(frame_bytes), 'G');
        return out;
    }
};

std::string to_name(int number) {
    std::string digits = fmt::format("{:010}", number);
    std::reverse(digits.begin(), digits.end());
    return digits + "spool.dat";
}

/// Writes 12 files of one frame each, whose names are not in the order of their numbers.
void write_twelve(const TemporaryFolder& folder, const Spool& spool = {}) {
    folder.write("acquisitionmetadata.ini", spool.description());
    for (int k = 0; k < 12; ++k) folder.write(to_name(k), spool.frame<std::uint16_t>(k));
}

const auto counts = counting<std::uint16_t>(12 * 6, 1000);

std::string warning_of(const Movie& movie) {
    return movie.info().warnings.size() == 1 ? movie.info().warnings[0]
                                             : fmt::format("{} warnings", movie.info().warnings.size());
}

}  // namespace

TEST(SpooledMovie, has_files_in_the_order_of_reversed_digits) {
    const TemporaryFolder folder;
    write_twelve(folder);
    ASSERT_LT(to_name(10), to_name(1));
    const auto movie = open_movie(folder.path());
    EXPECT_EQ(movie->info().frames, 12);
    EXPECT_EQ(movie->info().type, PixelType::uint16);
    EXPECT_TRUE(movie->info().warnings.empty());
    EXPECT_EQ(pixels<std::uint16_t>(*movie), counts);
    EXPECT_EQ(pixels<std::uint16_t>(*open_movie(folder / to_name(10))), counts);  // any file opens the folder
}

TEST(SpooledMovie, reads_several_frames_of_a_file) {
    const TemporaryFolder folder;
    const Spool spool{.frames_of_file = 5};
    folder.write("acquisitionmetadata.ini", spool.description());
    for (int file = 0; file < 3; ++file) {
        std::string bytes;
        for (int k = 5 * file; k < std::min(12, 5 * file + 5); ++k) bytes += spool.frame<std::uint16_t>(k);
        folder.write(to_name(file), bytes + std::string(file < 2 ? 7 : 0, 'p'));
    }
    const auto movie = open_movie(folder.path());
    EXPECT_EQ(pixels<std::uint16_t>(*movie), counts);
    EXPECT_TRUE(movie->info().warnings.empty());  // the last file ends with the recording
}

TEST(SpooledMovie, unpacks_two_pixels_of_three_bytes) {
    const TemporaryFolder folder;
    const Spool spool{.encoding = "Mono12Packed", .stride = 6, .frame_bytes = 12};
    folder.write("acquisitionmetadata.ini", spool.description());
    folder.write(to_name(0), std::string("\x12\xb3\xa4\x55\x06z\xff\x0f\x00\x80\x01", 11));  // z is a gap
    EXPECT_EQ(pixels<std::uint16_t>(*open_movie(folder.path())),
              (std::vector<std::uint16_t>{0x123, 0xa4b, 0x556, 0xfff, 0x000, 0x801}));
}

TEST(SpooledMovie, reads_other_encodings) {
    const TemporaryFolder folder;
    folder.write("acquisitionmetadata.ini", Spool{.encoding = "Mono32", .stride = 12, .frame_bytes = 24}.description());
    folder.write(to_name(0), bytes_of_numbers(counting<std::uint32_t>(6, 100000)));
    EXPECT_EQ(pixels<float>(*open_movie(folder.path())), counting<float>(6, 100000));
    folder.write("acquisitionmetadata.ini", Spool{.encoding = "Mono8", .stride = 3, .frame_bytes = 6}.description());
    folder.write(to_name(0), "abcdef");
    EXPECT_EQ(pixels<std::uint8_t>(*open_movie(folder.path())), counting<std::uint8_t>(6, 'a'));
    folder.write("acquisitionmetadata.ini", Spool{.encoding = "Mono22Parallel"}.description());
    expect_error<InputError>([&] { open_movie(folder.path()); }, {"`Mono22Parallel`", "Mono12Packed", "Solis"});
}

TEST(SpooledMovie, a_missing_file_ends_the_movie) {
    const TemporaryFolder folder;
    write_twelve(folder);
    std::filesystem::remove(folder / to_name(4));
    const auto movie = open_movie(folder.path());
    EXPECT_EQ(movie->info().frames, 4);
    EXPECT_NE(warning_of(*movie).find("file number 4 is missing, and 7 behind it are left out"), std::string::npos);
    std::filesystem::remove(folder / to_name(0));
    expect_error<InputError>([&] { open_movie(folder.path()); }, {"the file of frame 0", "10 files of later frames"});
}

TEST(SpooledMovie, a_short_file_ends_the_movie) {
    const TemporaryFolder folder;
    write_twelve(folder);
    folder.write(to_name(11), std::string(13, 'x'));  // the last file has no complete frame yet
    EXPECT_EQ(open_movie(folder.path())->info().frames, 11);
    folder.write(to_name(5), std::string(13, 'x'));
    const auto movie = open_movie(folder.path());
    EXPECT_EQ(movie->info().frames, 5);
    EXPECT_NE(warning_of(*movie).find(to_name(5) + " is truncated"), std::string::npos);
    folder.write(to_name(0), "x");
    expect_error<InputError>([&] { open_movie(folder.path()); }, {"1 bytes, less than one frame of 14", "no frame"});
}

TEST(SpooledMovie, refuses_descriptions_that_make_no_sense) {
    const TemporaryFolder folder;
    write_twelve(folder);
    const auto refused = [&](const Spool& spool, std::initializer_list<const char*> parts) {
        folder.write("acquisitionmetadata.ini", spool.description());
        expect_error<InputError>([&] { open_movie(folder.path()); }, parts);
    };
    refused({.width = 0}, {"acquisitionmetadata.ini", "`AOIWidth = 0`", "1 to 65535"});
    refused({.height = -2}, {"`AOIHeight = -2`"});
    refused({.width = 1000000}, {"`AOIWidth = 1000000`"});
    refused({.stride = 5}, {"rows of 5, too few for 3x2 px"});
    refused({.frame_bytes = 13}, {"frames of 13 bytes", "too few"});
    refused({.frames_of_file = 0}, {"`ImagesPerFile = 0`"});
    folder.write("acquisitionmetadata.ini", "[data]\nAOIHeight = 3\n");
    expect_error<InputError>([&] { open_movie(folder.path()); }, {"does not say `AOIWidth`"});
    std::filesystem::remove(folder / "acquisitionmetadata.ini");
    expect_error<InputError>([&] { open_movie(folder.path()); }, {"acquisitionmetadata.ini", "is not beside them"});
    expect_error<InputError>([&] { open_movie(folder / to_name(3)); }, {"is not beside them"});
}

TEST(SpooledMovie, a_header_that_is_damaged_leaves_the_frames) {
    const TemporaryFolder folder;
    write_twelve(folder);
    folder.write("Spooled files.sifx", "Andor Technology Multi-Channel File\n65538 1\n");
    const auto movie = open_movie(folder / "Spooled files.sifx");
    EXPECT_EQ(pixels<std::uint16_t>(*movie), counts);
    EXPECT_NE(warning_of(*movie).find("exposure and camera are unknown"), std::string::npos);
}
