// DCIMG movies: both layouts, pixels that are stored elsewhere, files that are damaged.
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

constexpr std::uint32_t header_bytes = 232;

/// A movie of 6x3 px. Pixel values are consecutive through the file, except for pixels that are stored elsewhere.
struct Dcimg {
    std::uint32_t version = 7, frames = 3, pixel_bytes = 2, width = 6, height = 3, row_bytes = 16, frame_bytes = 48,
                  sessions = 1;
    std::uint32_t moved_line = 0, moved_bytes = 8;  ///< of version 7
    std::uint16_t top = 1022, sensor_rows = 3;      ///< of newer versions
    std::uint32_t footer_bytes = 32;                ///< of each frame of newer versions

    bool has_frame_footers() const { return version != 7; }
    std::string file_header(std::size_t size) const {
        std::string out(header_bytes, '\0');
        out.replace(0, 5, "DCIMG");
        put(out, 8, version);
        put(out, 32, sessions), put(out, 36, frames), put(out, 40, header_bytes);
        put(out, 48, std::uint64_t(size)), put(out, 64, std::uint64_t(size));
        return out;
    }
    std::string session_header() const {
        std::string out(has_frame_footers() ? 760 : 84, '\0');
        if (has_frame_footers()) {
            put(out, 60, frames), put(out, 64, pixel_bytes), put(out, 72, width), put(out, 76, height);
            put(out, 80, row_bytes), put(out, 84, frame_bytes), put(out, 96, std::uint64_t(out.size()));
            put(out, 124, footer_bytes);
            put(out, 714, std::uint16_t(width)), put(out, 716, top), put(out, 718, sensor_rows);
        } else {
            put(out, 32, frames), put(out, 36, pixel_bytes), put(out, 44, width), put(out, 48, row_bytes);
            put(out, 52, height), put(out, 56, frame_bytes), put(out, 68, std::uint32_t(out.size()));
            put(out, 72, std::uint64_t(out.size()) + std::uint64_t(frames) * frame_bytes);
        }
        return out;
    }
    int line() const {
        return has_frame_footers() ? version == 0x2000000 ? 0 : (1023 - top) / (sensor_rows / int(height))
                                   : int(moved_line);
    }
    bool moves() const { return has_frame_footers() ? footer_bytes == 32 || footer_bytes >= 512 : moved_bytes > 0; }
    std::string frame(std::uint32_t number, std::string& moved) const {
        std::string out(frame_bytes, 'g');
        for (std::uint32_t y = 0; y < height; ++y)
            for (std::uint32_t x = 0; x < width; ++x) {
                const std::uint32_t count = 100 * number + width * y + x + 1;
                for (std::uint32_t k = 0; k < pixel_bytes; ++k)
                    out[y * row_bytes + x * pixel_bytes + k] = char(count >> 8 * k & 255);
            }
        if (!moves() || line() < 0 || line() >= int(height)) return out;
        const std::size_t place = std::size_t(line()) * row_bytes;
        moved += out.substr(place, 8);
        out.replace(place, 8, "\xff\xff\0\0\xff\xff\0\0", 8);
        return out;
    }
    std::string bytes() const {
        std::string body = session_header(), all_moved;
        for (std::uint32_t k = 0; k < frames; ++k) {
            std::string moved;
            body += frame(k, moved);
            if (has_frame_footers()) {
                std::string footer(footer_bytes, 'F');
                if (!moved.empty()) footer.replace(12, 8, moved);
                body += footer;
            }
            all_moved += moved;
        }
        if (!has_frame_footers()) {
            std::string footer(300, '\0');
            put(footer, 0, version), put(footer, 8, std::uint64_t(120));
            put(footer, 120 + 88, std::uint64_t(footer.size()));
            put(footer, 120 + 100, moved_line * row_bytes), put(footer, 120 + 104, std::uint64_t(moved_bytes));
            body += footer + all_moved;
        }
        return file_header(header_bytes + body.size()) + body;
    }
    std::vector<std::uint16_t> counts() const {
        std::vector<std::uint16_t> out;
        for (std::uint32_t k = 0; k < frames; ++k)
            for (std::uint32_t at = 0; at < width * height; ++at) out.push_back(std::uint16_t(100 * k + at + 1));
        return out;
    }
};

void reads(const Dcimg& dcimg) {
    const TemporaryFolder folder;
    const auto movie = open_movie(folder.write("m.dcimg", dcimg.bytes()));
    EXPECT_EQ(movie->info().width, 6);
    EXPECT_EQ(movie->info().height, 3);
    EXPECT_EQ(movie->info().frames, 3);
    EXPECT_TRUE(movie->info().warnings.empty()) << movie->info().warnings[0];
    const std::vector<std::uint16_t> counts = dcimg.counts();
    EXPECT_EQ(pixels<std::uint16_t>(*movie), counts);
    EXPECT_EQ(pixels<std::uint16_t>(*movie, 1, 2), std::vector<std::uint16_t>(counts.begin() + 18, counts.end()));
}

}  // namespace

TEST(DcimgMovie, puts_pixels_of_the_footer_into_their_frames) {
    reads({});
    reads({.moved_line = 2});
    reads({.moved_bytes = 0});
}

TEST(DcimgMovie, puts_pixels_of_frame_footers_into_the_sensors_line) {
    reads({.version = 0x1000000});
    reads({.version = 0x1000000, .top = 1019, .sensor_rows = 6});  // two rows of the sensor are binned to one
    reads({.version = 0x1000000, .top = 1000});                    // the line is not in the frame
    reads({.version = 0x1000000, .top = 1024});
    reads({.version = 0x1000000, .footer_bytes = 512});
    reads({.version = 0x1000000, .footer_bytes = 64});  // without pixels
    reads({.version = 0x1050000});
    reads({.version = 0x2000000});
}

TEST(DcimgMovie, reads_bytes) {
    const TemporaryFolder folder;
    for (const std::uint32_t version : {7u, 0x1000000u}) {
        const Dcimg dcimg{.version = version, .pixel_bytes = 1, .width = 12};
        const auto movie = open_movie(folder.write("m.dcimg", dcimg.bytes()));
        EXPECT_EQ(movie->info().type, PixelType::uint8);
        const std::vector<std::uint16_t> counts = dcimg.counts();
        EXPECT_EQ(pixels<std::uint8_t>(*movie), std::vector<std::uint8_t>(counts.begin(), counts.end()));
    }
}

TEST(DcimgMovie, truncated_file_has_its_complete_frames) {
    const TemporaryFolder folder;
    const std::string whole = Dcimg{.version = 0x1000000}.bytes();
    const auto movie = open_movie(folder.write("m.dcimg", whole.substr(0, whole.size() - 1)));
    EXPECT_EQ(movie->info().frames, 2);
    ASSERT_EQ(movie->info().warnings.size(), 1u);
    EXPECT_NE(movie->info().warnings[0].find("frame 3 of 3 is truncated (expected 80 bytes, found 79)"),
              std::string::npos);
    const auto none = folder.write("m.dcimg", whole.substr(0, 232 + 760 + 79));
    expect_error<InputError>([&] { open_movie(none); }, {"frame 1 of 3", "no frame is usable"});
    const std::string old = Dcimg{}.bytes();
    const auto without_footer = open_movie(folder.write("m.dcimg", old.substr(0, 232 + 84 + 2 * 48 + 10)));
    EXPECT_EQ(without_footer->info().frames, 2);
    ASSERT_EQ(without_footer->info().warnings.size(), 2u);
    EXPECT_NE(without_footer->info().warnings[0].find("its footer is missing"), std::string::npos);
}

TEST(DcimgMovie, every_header_that_breaks_off_is_refused) {
    const TemporaryFolder folder;
    for (const std::uint32_t version : {7u, 0x1000000u}) {
        const Dcimg dcimg{.version = version};
        const std::string bytes = dcimg.bytes();
        for (std::size_t n = 6; n < 232 + dcimg.session_header().size(); n += 3) {
            SCOPED_TRACE(n);
            const auto path = folder.write("m.dcimg", bytes.substr(0, n));
            expect_error<InputError>([&] { open_movie(path); }, {"m.dcimg"});
        }
    }
}

TEST(DcimgMovie, refuses_what_contradicts_itself) {
    const TemporaryFolder folder;
    const auto refused = [&](const std::string& bytes, std::initializer_list<const char*> parts) {
        const auto path = folder.write("m.dcimg", bytes);
        expect_error<InputError>([&] { open_movie(path); }, parts);
    };
    refused(Dcimg{.version = 8}.bytes(), {"m.dcimg", "version 0x8", "HCImage"});
    refused(Dcimg{.sessions = 2}.bytes(), {"has 2 sessions"});
    const auto changed = [&](std::size_t at, std::uint32_t value) {
        std::string bytes = Dcimg{}.bytes();
        put(bytes, header_bytes + at, value);
        return bytes;
    };
    refused(changed(36, 3), {"pixels of 3 bytes"});
    refused(changed(44, 0), {"frames of 0x3 px"});
    refused(changed(44, 9), {"rows of 16 for 9x3 px"});
    refused(changed(44, 0x80000000), {"px"});
    refused(changed(52, 70000), {"70000 px"});
    refused(changed(48, 0xffffffff), {"rows of 4294967295"});
    refused(changed(56, 47), {"frames of 47 bytes"});
    refused(changed(32, 0), {"0 frames"});
    refused(changed(68, 0xffffffff), {"no frame is usable"});
    std::string odd = Dcimg{}.bytes();
    put(odd, 232 + 84 + 3 * 48 + 120 + 88, ~std::uint64_t(0));  // where the moved pixels are
    const auto movie = open_movie(folder.write("m.dcimg", odd));
    ASSERT_EQ(movie->info().warnings.size(), 1u);
    EXPECT_NE(movie->info().warnings[0].find("its footer contradicts itself"), std::string::npos);
    std::string far = Dcimg{.version = 0x1000000}.bytes();
    put(far, 232 + 96, ~std::uint64_t(0));
    refused(far, {"no frame is usable"});
    put(far, 40, 0xffffffffu);
    refused(far, {"m.dcimg"});
}
