// PNG files as frames: order, types, pictures that are not grey, damage.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <fmt/format.h>
#include <zlib.h>

#include <cstring>

#include "glint/error.hpp"
#include "glint/movie_io.hpp"
#include "tests/expect_error.hpp"
#include "tests/movie_bytes.hpp"
#include "tests/temporary_folder.hpp"

using namespace glint;
using namespace glint::test;

namespace {

std::string chunk(const std::string& name, const std::string& data) {
    const std::string body = name + data;
    const auto sum = std::uint32_t(crc32(0, reinterpret_cast<const Bytef*>(body.data()), uInt(body.size())));
    return bytes_of_numbers<std::uint32_t>({std::uint32_t(data.size())}, Order::big) + body +
           bytes_of_numbers<std::uint32_t>({sum}, Order::big);
}

struct Png {
    std::uint32_t width = 3, height = 2;
    int bits = 16, colour = 0, interlace = 0;
    std::string more = {};  ///< chunks before the pixels
    /// `rows`: big-endian, without the filter's byte.
    std::string bytes(const std::string& rows) const {
        std::string filtered;
        for (std::uint32_t y = 0; y < height; ++y)
            filtered += std::string(1, '\0') + rows.substr(y * rows.size() / height, rows.size() / height);
        std::string packed(compressBound(uLong(filtered.size())), '\0');
        uLongf size = packed.size();
        compress(reinterpret_cast<Bytef*>(packed.data()), &size, reinterpret_cast<const Bytef*>(filtered.data()),
                 uLong(filtered.size()));
        return "\x89PNG\r\n\x1a\n" +
               chunk("IHDR", bytes_of_numbers<std::uint32_t>({width, height}, Order::big) +
                                 std::string{char(bits), char(colour), '\0', '\0', char(interlace)}) +
               more + chunk("IDAT", packed.substr(0, size)) + chunk("IEND", "");
    }
};

std::string frame(int number) {
    return Png{}.bytes(bytes_of_numbers(counting<std::uint16_t>(6, std::uint16_t(1000 + 6 * number)), Order::big));
}

const auto counts = counting<std::uint16_t>(12 * 6, 1000);

void write_twelve(const TemporaryFolder& folder) {
    for (int k = 0; k < 12; ++k) folder.write(fmt::format("m\xc3\xbc {}.{}", k, k == 3 ? "PNG" : "png"), frame(k));
}

std::string to_name(int number) { return fmt::format("m\xc3\xbc {}.png", number); }

std::string warning_of(const Movie& movie) {
    return movie.info().warnings.size() == 1 ? movie.info().warnings[0]
                                             : fmt::format("{} warnings", movie.info().warnings.size());
}

}  // namespace

TEST(PngMovie, has_the_files_of_a_folder_in_natural_order) {
    const TemporaryFolder folder;
    write_twelve(folder);
    const auto movie = open_movie(folder.path());
    EXPECT_EQ(movie->info().frames, 12);
    EXPECT_EQ(movie->info().width, 3);
    EXPECT_EQ(movie->info().type, PixelType::uint16);
    EXPECT_TRUE(movie->info().warnings.empty());
    EXPECT_EQ(pixels<std::uint16_t>(*movie), counts);
}

TEST(PngMovie, one_file_is_one_frame_and_files_are_joined) {
    const TemporaryFolder folder;
    write_twelve(folder);
    EXPECT_EQ(pixels<std::uint16_t>(*open_movie(folder / to_name(1))), counting<std::uint16_t>(6, 1006));
    const auto joined = open_joined_movie({folder / to_name(0), folder / to_name(1)});
    EXPECT_EQ(pixels<std::uint16_t>(*joined), counting<std::uint16_t>(12, 1000));
    const auto bytes = folder.write("bytes.png", Png{.bits = 8}.bytes("abcdef"));
    EXPECT_EQ(pixels<std::uint8_t>(*open_movie(bytes)), counting<std::uint8_t>(6, 'a'));
}

TEST(PngMovie, refuses_what_is_not_grey) {
    const TemporaryFolder folder;
    const auto refused = [&](const Png& png, std::initializer_list<const char*> parts) {
        const auto path = folder.write("m.png", png.bytes(std::string(24, 'x')));
        expect_error<InputError>([&] { open_movie(path); }, parts);
        expect_error<InputError>([&] { open_movie(folder.path()); }, parts);
    };
    refused({.bits = 8, .colour = 2}, {"m.png: is a colour picture", "grey PNG"});
    refused({.bits = 8, .colour = 3}, {"m.png: has a palette"});
    refused({.bits = 8, .colour = 4}, {"m.png: has an alpha channel"});
    refused({.bits = 16, .colour = 6}, {"m.png: is a colour picture"});
    refused({.bits = 4}, {"m.png: has pixels of 4 bits"});
    refused({.width = 0}, {"claims 0x2 px"});
    refused({.width = 70000}, {"claims 70000x2 px"});
    refused({.width = 60000, .height = 60000}, {"claims 60000x60000 px, more than its"});
}

TEST(PngMovie, frames_are_alike) {
    const TemporaryFolder folder;
    write_twelve(folder);
    folder.write(to_name(7), Png{.bits = 8}.bytes("abcdef"));
    expect_error<InputError>([&] { open_movie(folder.path()); }, {"7.png: has 3x2 px of 8 bits", "move other files"});
}

TEST(PngMovie, missing_numbers_and_other_files_are_reported) {
    const TemporaryFolder folder;
    write_twelve(folder);
    std::filesystem::remove(folder / to_name(5));
    EXPECT_NE(warning_of(*open_movie(folder.path())).find("number 5 is missing"), std::string::npos);
    write_twelve(folder);
    folder.write("notes.txt", "x");
    EXPECT_NE(warning_of(*open_movie(folder.path())).find("1 other file is ignored"), std::string::npos);
}

TEST(PngMovie, a_link_to_nothing_is_refused_and_shifts_no_frame) {
    const TemporaryFolder folder;
    write_twelve(folder);
    std::filesystem::remove(folder / to_name(5));
    std::filesystem::create_symlink("gone.png", folder / to_name(5));
    expect_error<InputError>([&] { open_movie(folder.path()); }, {"5.png: is a link to gone.png, which does not exist",
                                                                  "wrong numbers", "Put the file back"});
    folder.write("gone.png", frame(5));  // the link then has a target, so it is also a frame
    EXPECT_EQ(open_movie(folder.path())->info().frames, 13);
    std::filesystem::remove(folder / "gone.png");
    std::filesystem::remove(folder / to_name(5));
    std::filesystem::create_symlink("gone.txt", folder / "notes.txt");  // not a frame, by its name
    EXPECT_EQ(open_movie(folder.path())->info().frames, 11);
}

TEST(PngMovie, a_folder_of_links_to_nothing_says_so) {
    const TemporaryFolder folder;
    std::filesystem::create_symlink("gone.png", folder / "a.png");
    expect_error<InputError>([&] { open_movie(folder.path()); }, {"a.png: is a link to gone.png"});
}

TEST(PngMovie, a_file_that_breaks_off_ends_the_movie) {
    const TemporaryFolder folder;
    write_twelve(folder);
    for (const std::size_t n : {std::size_t(0), std::size_t(5), std::size_t(40), frame(11).size() - 14}) {
        folder.write(to_name(11), frame(11).substr(0, n));
        const auto movie = open_movie(folder.path());
        EXPECT_EQ(movie->info().frames, 11) << n;
        EXPECT_NE(warning_of(*movie).find("it is the last file, and is left out"), std::string::npos) << n;
    }
    folder.write(to_name(4), frame(4).substr(0, 40));
    const auto movie = open_movie(folder.path());
    EXPECT_EQ(pixels<std::uint16_t>(*movie), std::vector<std::uint16_t>(counts.begin(), counts.begin() + 24));
    EXPECT_NE(warning_of(*movie).find("the movie ends before it, and 7 behind it are left out"), std::string::npos);
    folder.write(to_name(0), "");
    expect_error<InputError>([&] { open_movie(folder.path()); }, {"0.png: is empty", "no frame is usable"});
}

TEST(PngMovie, bytes_behind_the_end_do_not_matter) {
    const TemporaryFolder folder;
    const auto path = folder.write("m.png", frame(0) + "more");
    EXPECT_EQ(pixels<std::uint16_t>(*open_movie(path)), counting<std::uint16_t>(6, 1000));
}

TEST(PngMovie, damaged_pixels_are_an_error_when_they_are_read) {
    const TemporaryFolder folder;
    write_twelve(folder);
    std::string bytes = frame(6);
    bytes[bytes.find("IDAT") + 6] ^= 1;
    folder.write(to_name(6), bytes);
    const auto movie = open_movie(folder.path());
    expect_error<InputError>([&] { pixels<std::uint16_t>(*movie); }, {"frame 6", "6.png", "damaged"});
    EXPECT_EQ(pixels<std::uint16_t>(*movie, 7, 1), counting<std::uint16_t>(6, 1042));
}

TEST(PngMovie, a_folder_with_tiffs_is_one_of_tiffs) {
    const TemporaryFolder folder;
    write_twelve(folder);
    folder.write("a.tif", "II*");
    expect_error<InputError>([&] { open_movie(folder.path()); }, {"a.tif"});
}
