// CZI files that are damaged, make false claims, or contain unsupported data. tests/judge/test_czi.py tests valid
// files.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>
#include <zstd.h>

#include <cstring>

#include "glint/error.hpp"
#include "glint/movie_io.hpp"
#include "io/czi/file.hpp"
#include "tests/expect_error.hpp"
#include "tests/temporary_folder.hpp"

using namespace glint;
using test::expect_error;

namespace {

template <class T>
std::string bytes_of_number(T value) {
    return {reinterpret_cast<const char*>(&value), sizeof value};
}

std::string padded(std::string text, std::size_t bytes) {
    text.resize(bytes, '\0');
    return text;
}

std::string segment(const std::string& name, const std::string& data) {
    return padded(name, 16) + bytes_of_number(std::uint64_t(data.size())) +
           bytes_of_number(std::uint64_t(data.size())) + data;
}

/// A movie of 3x2 px uint16, whose pixels are a ramp through the file.
struct Czi {
    int frames = 3;
    std::int32_t pixel_type = 1, compression = 0, file_part = 0, width = 3, height = 2;
    std::string other_dimension = {};  ///< in which each frame has a different position
    bool is_pyramid = false;
    std::string packed = {};          ///< replaces a frame's pixels
    std::uint64_t directory_at = 0;   ///< replaces the correct position
    std::int32_t entries = 0;         ///< claimed by the directory in addition to the actual ones
    std::uint64_t claimed_bytes = 0;  ///< of a frame's pixels, in addition to the actual ones
    std::int32_t own_width = 0;       ///< stated by a picture's own segment instead of the correct width
    int every = 1;                    ///< step of the times

    static std::string dimension(const std::string& name, std::int32_t start, std::int32_t size) {
        return padded(name, 4) + bytes_of_number(start) + bytes_of_number(size) + bytes_of_number(0.0f) +
               bytes_of_number(size);
    }
    std::string entry(int frame, std::uint64_t at) const {
        std::string dimensions =
            dimension("X", 0, width) + dimension("Y", 0, height) + dimension("T", frame * every, 1);
        if (!other_dimension.empty()) dimensions += dimension(other_dimension, frame, 1);
        return "DV" + bytes_of_number(pixel_type) + bytes_of_number(at) + bytes_of_number(file_part) +
               bytes_of_number(compression) + padded(std::string(1, char(is_pyramid)), 6) +
               bytes_of_number(std::int32_t(dimensions.size() / 20)) + dimensions;
    }
    std::string pixels(int frame) const {
        std::string out;
        for (int k = 0; k < 6; ++k) out += bytes_of_number(std::uint16_t(6 * frame + k));
        return out;
    }
    std::string bytes() const {
        std::string body, directory;
        constexpr std::size_t head = 32 + 512;
        for (int k = 0; k < frames; ++k) {
            const std::string here = entry(k, head + body.size()), data = packed.empty() ? pixels(k) : packed;
            directory += here;
            Czi own = *this;
            if (own_width) own.width = own_width;
            const std::string inside = own.entry(k, head + body.size());
            const std::string sizes = bytes_of_number(std::int32_t(0)) + bytes_of_number(std::int32_t(0)) +
                                      bytes_of_number(std::uint64_t(data.size()) + claimed_bytes);
            body += segment("ZISRAWSUBBLOCK", padded(sizes + inside, 256) + data);
        }
        const std::uint64_t place = directory_at ? directory_at : head + body.size();
        std::string file_head(52, '\0');
        file_head += bytes_of_number(place);
        return segment("ZISRAWFILE", padded(file_head, 512)) + body +
               segment("ZISRAWDIRECTORY", padded(bytes_of_number(std::int32_t(frames + entries)), 128) + directory);
    }
    std::filesystem::path write(const test::TemporaryFolder& folder) const { return folder.write("m.czi", bytes()); }
};

std::uint16_t first_pixel(Movie& movie, std::int64_t frame) {
    FrameBlock block;
    movie.read(frame, 1, block);
    std::uint16_t value = 0;
    std::memcpy(&value, block.frame(0), sizeof value);
    return value;
}

}  // namespace

TEST(CziMovie, has_the_frames_of_its_directory) {
    const test::TemporaryFolder folder;
    const auto movie = open_movie(Czi{}.write(folder));
    EXPECT_EQ(movie->info().frames, 3);
    EXPECT_EQ(movie->info().width, 3);
    EXPECT_EQ(movie->info().height, 2);
    EXPECT_EQ(movie->info().type, PixelType::uint16);
    EXPECT_EQ(first_pixel(*movie, 2), 12);
    expect_error<OptionError>([&] { open_movie(folder / "m.czi", {.channel = "1"}); }, {"m.czi: `channel=1`"});
}

TEST(CziMovie, times_that_are_missing_are_reported) {
    const test::TemporaryFolder folder;
    EXPECT_TRUE(open_movie(Czi{}.write(folder))->info().warnings.empty());
    const auto warnings = open_movie(Czi{.every = 2}.write(folder))->info().warnings;
    ASSERT_EQ(warnings.size(), 1u);
    EXPECT_NE(warnings[0].find("2 of the times 0 to 4 are missing"), std::string::npos) << warnings[0];
}

TEST(CziMovie, refuses_what_it_cannot_read) {
    const test::TemporaryFolder folder;
    const auto refused = [&](const Czi& czi, std::initializer_list<const char*> parts) {
        const auto path = czi.write(folder);
        expect_error<InputError>([&] { open_movie(path); }, parts);
    };
    refused({.pixel_type = 3}, {"m.czi: its pixels have colours"});
    refused({.pixel_type = 12}, {"m.czi: its pixels are of CZI's type 12", "Gray16"});
    refused({.compression = 4}, {"m.czi: its frames are compressed by JPEG XR", "Zstd"});
    refused({.compression = 1}, {"compressed by JPEG, "});
    refused({.compression = 2}, {"compression LZW"});
    refused({.compression = 1000}, {"compression 1000"});
    refused({.file_part = 1}, {"frame 0 lies in part 1"});
    refused({.other_dimension = "H"}, {"pictures of several phases (H)", "Create Image Subset"});
    refused({.other_dimension = "Q"}, {"values of an unknown dimension"});
    refused({.is_pyramid = true}, {"without a single picture"});
    refused({.frames = 0}, {"without a single picture"});
}

TEST(CziMovie, claims_are_compared_with_the_file) {
    const test::TemporaryFolder folder;
    const auto refused = [&](const Czi& czi, std::initializer_list<const char*> parts) {
        const auto path = czi.write(folder);
        expect_error<InputError>([&] { open_movie(path); }, parts);
    };
    refused({.directory_at = 100}, {"m.czi: its directory is not at byte 100"});
    refused({.directory_at = ~std::uint64_t(0)}, {"its directory is not at byte 18446744073709551615"});
    refused({.entries = 1}, {"entry 3 of the 4 in its directory is damaged"});
    refused({.entries = 1 << 30}, {"entry 3 of the"});
    refused({.width = 65535, .height = 65535}, {"frame 0 of 3 is not in the file, or truncated"});
    refused({.compression = 5, .width = 65535, .height = 65535}, {"frame 0 of 3 is not in the file, or truncated"});
    refused({.width = 0}, {"frame 0 has 0x2 px"});
    refused({.height = -5}, {"frame 0 has 3x-5 px"});
    refused({.claimed_bytes = 1 << 20}, {"m.czi: frame 0 cannot be read", "claims 1048588 bytes"});
    refused({.claimed_bytes = 1}, {"m.czi: frame 0 cannot be read", "13 bytes of pixels end beyond its segment"});
    refused({.own_width = 6}, {"m.czi: frame 0 cannot be read", "something else of it than the file's directory"});
}

TEST(CziMovie, compressed_frames_that_are_damaged_are_reported) {
    const test::TemporaryFolder folder;
    const std::string pixels = Czi{}.pixels(0);
    std::string packed(ZSTD_compressBound(pixels.size()), '\0');
    packed.resize(ZSTD_compress(packed.data(), packed.size(), pixels.data(), pixels.size(), 1));
    const auto read = [&](std::int32_t compression, const std::string& stored) {
        FrameBlock block;
        open_movie(Czi{.compression = compression, .packed = stored}.write(folder))->read(0, 1, block);
        return std::string(reinterpret_cast<const char*>(block.frame(0)), block.frame_bytes());
    };
    EXPECT_EQ(read(5, packed), pixels);
    EXPECT_EQ(read(6, "\x01" + packed), pixels);
    EXPECT_EQ(read(6, std::string("\x03\x01\x00", 3) + packed), pixels);
    std::string joined;  // low bytes first, then high ones
    for (std::size_t k = 0; k < 6; ++k) joined += {pixels[k], pixels[k + 6]};
    EXPECT_EQ(read(6, "\x03\x01\x01" + packed), joined);
    expect_error<InputError>([&] { read(6, "\x03\x02\x01" + packed); }, {"header of its compressed data"});
    expect_error<InputError>([&] { read(6, "\x07" + packed); }, {"header of its compressed data"});
    expect_error<InputError>([&] { read(5, "not Zstandard"); }, {"compressed data are damaged"});
    expect_error<InputError>([&] { read(0, "few"); }, {"3 bytes of pixels, not 12"});
}

TEST(CziFacts, come_from_their_own_places) {
    const czi::Facts facts = czi::parse_facts(
        "<Metadata><Information><Instrument><Detectors><Detector Id='1' Name='pco &amp; co'/></Detectors></Instrument>"
        "<Image><SizeT>7</SizeT><Dimensions><Channels><Channel Id='Channel:0' "
        "Name='A'><ExposureTime>30000000</ExposureTime></Channel>"
        "</Channels></Dimensions></Image></Information><Scaling><Items><Distance Id='X'><Value>1e-07</Value></Distance>"
        "<Distance Id='Y'><Value>2e-07</Value></Distance><Distance "
        "Id='Z'><Value>3e-07</Value></Distance></Items></Scaling>"
        "<DisplaySetting><Channels><Channel Name='B'/></Channels></DisplaySetting></Metadata>",
        "movie.czi");
    EXPECT_NEAR(facts.width_nm, 100, 1e-9);
    EXPECT_NEAR(facts.height_nm, 200, 1e-9);
    EXPECT_EQ(facts.exposure_ms, 30);
    EXPECT_EQ(facts.channels, std::vector<std::string>{"A"});
    EXPECT_EQ(facts.camera, "pco & co");
    EXPECT_EQ(facts.times, 7);
    EXPECT_FALSE(
        czi::parse_facts("<Information><Channels><Channel><ExposureTime>1</ExposureTime><ExposureTime>2", "a.czi")
            .exposure_ms.has_value());
}
