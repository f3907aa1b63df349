// Tagged spot files, encoded byte by byte according to the format's description.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cstring>

#include "glint/localization_io.hpp"
#include "tests/expect_error.hpp"
#include "tests/localization_table.hpp"
#include "tests/temporary_folder.hpp"

using namespace glint;
using namespace glint::test;

namespace {

std::string varint(std::uint64_t value) {
    std::string out;
    for (; value > 127; value >>= 7) out += char(value | 128);
    return out + char(value);
}

std::string whole(std::uint64_t field, std::int64_t value) { return varint(field << 3) + varint(std::uint64_t(value)); }

std::string real(std::uint64_t field, float value) {
    char raw[4];
    std::memcpy(raw, &value, 4);
    return varint(field << 3 | 5) + std::string(raw, 4);
}

std::string text(std::uint64_t field, const std::string& value) {
    return varint(field << 3 | 2) + varint(value.size()) + value;
}

std::string delimited(const std::string& message) { return varint(message.size()) + message; }

std::string spot(int frame, float x, float y, const std::string& more = "") {
    return whole(1, frame) + whole(2, 1) + whole(3, frame) + real(7, x) + real(8, y) + real(10, 800) + more;
}

std::string file_of(const std::vector<std::string>& spots, const std::string& list) {
    std::string body;
    for (const std::string& one : spots) body += delimited(one);
    std::string header(4, '\0');
    for (int k = 56; k >= 0; k -= 8) header += char(std::uint64_t(body.size()) >> k & 255);
    return header + body + delimited(whole(1, 1) + text(2, "a movie") + list);
}

const std::string nm_and_photons = whole(22, 0) + whole(23, 1);
const std::string movie = whole(5, 300) + whole(6, 200) + real(7, 160) + whole(19, 50);

}  // namespace

TEST(Tsf, spots_have_the_units_that_the_file_names) {
    TemporaryFolder folder;
    Warnings warnings;
    const std::string more = real(9, -250) + real(11, 12) + real(12, 300) + real(104, 16) + real(105, 8) +
                             text(1600, "of a program") + whole(4, 1);
    const auto path =
        folder.write("a.tsf", file_of({spot(1, 1600, 800, more), spot(50, 160, 0, more)}, nm_and_photons + movie));
    const Localizations out = read_localizations(path, warnings.sink());
    EXPECT_EQ(out.frame, (std::vector<std::uint32_t>{0, 49}));
    EXPECT_EQ(out.x_px, (std::vector<float>{10, 1}));
    EXPECT_EQ(out.y_px, (std::vector<float>{5, 0}));
    EXPECT_EQ(out.z_nm, (std::vector<float>{-250, -250}));
    EXPECT_EQ(out.photons[0], 800);
    EXPECT_FLOAT_EQ(out.lpx_px[0], 0.1f);
    EXPECT_FLOAT_EQ(out.lpy_px[0], 0.05f);
    EXPECT_EQ(out.extra.at("background").values[0], 12);
    EXPECT_EQ(out.extra.at("width").values[0], 300);
    EXPECT_TRUE(out.extra.at("molecule").is_integer);
    EXPECT_FALSE(out.extra.contains("channel") || out.extra.contains("slice"));
    EXPECT_EQ(out.pixel_size_nm, 160);
    EXPECT_EQ(out.width, 300);
    EXPECT_EQ(out.height, 200);
    EXPECT_EQ(out.frames, 50);
    EXPECT_EQ(warnings.all.size(), 1u);
    EXPECT_TRUE(warnings.contain("taken as the first pixel's centre, as Micro-Manager does"));
}

TEST(Tsf, pixels_counts_and_channels) {
    TemporaryFolder folder;
    Warnings warnings;
    const auto path = folder.write("a.tsf", file_of({spot(1, 3.5f, 2, real(9, 0)),
                                                     whole(1, 2) + whole(2, 2) + spot(2, 4, 5, real(9, 0)).substr(4)},
                                                    whole(22, 2) + whole(23, 0)));
    const Localizations out = read_localizations(path, warnings.sink());
    EXPECT_EQ(out.x_px, (std::vector<float>{3.5f, 4}));
    EXPECT_TRUE(out.photons.empty());
    EXPECT_TRUE(out.z_nm.empty()) << "all are 0";
    EXPECT_EQ(out.extra.at("intensity_counts").values[1], 800);
    EXPECT_EQ(out.extra.at("channel").values, (std::vector<double>{1, 2}));
    EXPECT_TRUE(warnings.contain("in counts, not in photons"));
    EXPECT_TRUE(warnings.contain("several values of channel"));
}

TEST(Tsf, many_spots_are_read_in_pieces) {
    TemporaryFolder folder;
    std::vector<std::string> spots;
    for (int k = 0; k < 60'000; ++k) spots.push_back(spot(k / 5 + 1, float(k % 200), 3));  // more than 1 MiB
    const Localizations out = read_localizations(folder.write("a.tsf", file_of(spots, whole(22, 2) + whole(23, 1))));
    ASSERT_EQ(out.size(), spots.size());
    for (std::size_t k = 0; k < out.size(); ++k) {
        ASSERT_EQ(out.x_px[k], float(k % 200));
        ASSERT_EQ(out.frame[k], k / 5);
    }
}

TEST(Tsf, damaged_files_are_refused) {
    TemporaryFolder folder;
    const auto read = [&](const std::string& bytes) {
        return message_of<InputError>([&] { read_localizations(folder.write("a.tsf", bytes)); });
    };
    const std::string good = file_of({spot(1, 1, 2), spot(2, 1, 2)}, whole(22, 2) + whole(23, 1));
    EXPECT_EQ(read_localizations(folder.write("b.tsf", good)).size(), 2u);
    EXPECT_HAS(read(file_of({spot(1, 1, 2)}, whole(23, 1))), "in which unit its positions are");
    EXPECT_HAS(read(file_of({spot(1, 1, 2)}, whole(22, 7) + whole(23, 1))),
               "the unit of its positions is not understood (7)");
    EXPECT_HAS(read(file_of({spot(1, 1, 2), spot(1, 1, 2, whole(17, 0))}, whole(22, 2) + whole(23, 1))),
               "spot 2 has another unit");
    EXPECT_HAS(read(file_of({spot(-5, 1, 2)}, whole(22, 2) + whole(23, 1))), "frame number -5");
    std::string long_spot = good;
    long_spot[12] = char(120);  // the first spot ends after the second begins
    EXPECT_HAS(read(long_spot), "spot 1 is no message");
    std::string wrong_kind = good;
    wrong_kind[13] = char(15);
    EXPECT_HAS(read(wrong_kind), "spot 1 is no message");
    EXPECT_HAS(message_of<OptionError>(
                   [&] { read_localizations(folder.write("c.tsf", file_of({spot(1, 1, 2)}, nm_and_photons))); }),
               "`table_pixel_size=100nm`");
    EXPECT_HAS(read(good.substr(0, good.size() - 1)), "neither HDF5 nor CSV");
}
