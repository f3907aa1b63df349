// MetaMorph's stacks: planes without directories, calibration, invalid tags.
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

/// A stack of 4x2 pixels in MetaMorph's layout: pixels, values of tags, one directory.
class Stk {
  public:
    explicit Stk(std::uint32_t planes) : planes_(planes) {}

    std::string unit = "um";
    std::uint32_t calibrated = 1, nm_x = 160, nm_y = 160, denominator = 1000, uic2_type = 5;
    std::string description = "Acquired from Photometrics\r\nExposure: 50 ms\r\nBinning: 1 x 1\r\n";
    std::uint16_t compression = 1, rows_per_strip = 2;
    std::vector<std::uint16_t> counts = counting<std::uint16_t>(3 * 4 * 2, 513);

    std::string bytes() {
        out_ = std::string("II*\0\0\0\0\0", 8) + bytes_of_numbers(counts);
        const auto x = add(bytes_of_numbers<std::uint32_t>({nm_x, denominator}));
        const auto y = add(bytes_of_numbers<std::uint32_t>({nm_y, denominator}));
        const auto name = add(bytes_of_numbers<std::uint32_t>({std::uint32_t(unit.size() + 1)}) + unit + '\0');
        const auto uic1 = add(bytes_of_numbers<std::uint32_t>({0, 1, 3, calibrated, 4, x, 5, y, 6, name}));
        const auto uic2 = add(std::string(24 * 3, '\1'));
        const auto text = add(description + '\0');
        put(out_, 4, std::uint32_t(out_.size()));
        out_ += bytes_of_numbers<std::uint16_t>({12});
        entry(256, 4, 1, 4);
        entry(257, 4, 1, 2);
        entry(258, 3, 1, 16);
        entry(259, 3, 1, compression);
        entry(262, 3, 1, 1);
        entry(270, 2, std::uint32_t(description.size() + 1), text);
        entry(273, 4, 1, 8);
        entry(277, 3, 1, 1);
        entry(278, 3, 1, rows_per_strip);
        entry(279, 4, 1, 16);
        entry(33628, 4, 5, uic1);
        entry(33629, uic2_type, planes_, uic2);
        return out_ + std::string(4, '\0');
    }

  private:
    std::uint32_t add(const std::string& values) {
        const auto at = std::uint32_t(out_.size());
        out_ += values;
        return at;
    }
    void entry(std::uint32_t tag, std::uint32_t type, std::uint32_t count, std::uint32_t value) {
        out_ += bytes_of_numbers<std::uint16_t>({std::uint16_t(tag), std::uint16_t(type)});
        out_ += bytes_of_numbers<std::uint32_t>({count, value});
    }

    std::uint32_t planes_;
    std::string out_;
};

MovieInfo info_of(Stk stk) {
    const TemporaryFolder folder;
    return open_movie(folder.write("movie.stk", stk.bytes()))->info();
}

}  // namespace

TEST(Stk, reads_the_planes_behind_the_first) {
    const TemporaryFolder folder;
    Stk stk(3);
    const auto movie = open_movie(folder.write("movie.stk", stk.bytes()));
    EXPECT_EQ(movie->info().frames, 3);
    EXPECT_EQ(pixels<std::uint16_t>(*movie), stk.counts);
    EXPECT_TRUE(movie->info().warnings.empty());
    EXPECT_EQ(movie->info().pixel_size_nm, 160);
    EXPECT_EQ(movie->info().exposure_ms, 50);
    EXPECT_EQ(info_of(Stk(1)).frames, 1);
}

TEST(Stk, tells_a_pixel_size_only_where_it_is_calibrated) {
    const auto size = [](auto change) {
        Stk stk(3);
        change(stk);
        return info_of(stk).pixel_size_nm;
    };
    EXPECT_FALSE(size([](Stk& stk) { stk.calibrated = 0; }));
    EXPECT_FALSE(size([](Stk& stk) { stk.unit = "pixel"; }));
    EXPECT_FALSE(size([](Stk& stk) { stk.denominator = 0; }));
    EXPECT_FALSE(size([](Stk& stk) { stk.nm_y = 320; }));
    EXPECT_EQ(size([](Stk& stk) { stk.unit = "nm", stk.denominator = 2; }), 80);
}

TEST(Stk, tells_an_exposure_only_with_its_unit) {
    const auto exposure = [](const char* description) {
        Stk stk(3);
        stk.description = description;
        return info_of(stk).exposure_ms;
    };
    EXPECT_EQ(exposure("Exposure: 0.25 sec\r\n"), 250);
    EXPECT_EQ(exposure("Exposure: 12.5 ms"), 12.5);
    for (const char* description : {"", "Exposure: ", "Exposure: 5", "Exposure: many ms", "Exposure: -5 ms"})
        EXPECT_FALSE(exposure(description)) << description;
}

TEST(Stk, truncated_file_gives_its_whole_planes) {
    Stk stk(100);  // the directory follows the existing planes
    const auto info = info_of(stk);
    EXPECT_LT(info.frames, 100);
    ASSERT_EQ(info.warnings.size(), 1u);
    EXPECT_NE(info.warnings[0].find("of 100 is truncated"), std::string::npos);
    EXPECT_LT(info_of(Stk(0xffffffff)).frames, 100);
}

TEST(Stk, planes_that_are_compressed_are_reported) {
    Stk stk(3);
    stk.compression = 5;
    expect_error<InputError>([&] { info_of(stk); },
                             {"movie.stk", "MetaMorph stack of 3 planes", "save it uncompressed"});
}

TEST(Stk, a_tag_of_another_type_is_no_stack) {
    Stk stk(3);
    stk.uic2_type = 4;
    EXPECT_EQ(info_of(stk).frames, 1);
}
