// Pictures to files and back.
// SPDX-License-Identifier: MIT
#include "glint/picture_io.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <tbb/task_arena.h>
#include <tiffio.h>

#include <csignal>

#include "glint/error.hpp"
#include "tests/temporary_folder.hpp"

using namespace glint;
using glint::test::read_bytes;
using glint::test::TemporaryFolder;

namespace {

RgbPicture colours(int width, int height) {
    RgbPicture picture{width, height, 12.5, {}};
    for (int k = 0; k < width * height * 3; ++k) picture.rgb.push_back(std::uint8_t(k * 37 + k / 11));
    return picture;
}

Picture ramp(int width, int height) {
    Picture picture{width, height, 10, {}};
    for (int k = 0; k < width * height; ++k) picture.values.push_back(float(k) * 0.25f - 3);
    return picture;
}

/// Runs `write` with a limit of `bytes` per file, as on a full disk.
template <class Write>
void on_a_full_disk(rlim_t bytes, Write write) {
    std::signal(SIGXFSZ, SIG_IGN);
    rlimit before;
    getrlimit(RLIMIT_FSIZE, &before);
    const rlimit tight{bytes, before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &tight);
    EXPECT_THROW(write(), OutputError);
    setrlimit(RLIMIT_FSIZE, &before);
}

}  // namespace

TEST(PictureIo, png_reads_back_with_its_scale) {
    TemporaryFolder folder;
    const RgbPicture in = colours(31, 17);
    write_png(folder / "a.png", in);
    const RgbPicture out = read_png(folder / "a.png");
    EXPECT_EQ(out.width, 31);
    EXPECT_EQ(out.height, 17);
    EXPECT_EQ(out.rgb, in.rgb);
    EXPECT_NEAR(out.pixel_size_nm, 12.5, 1e-6);
}

TEST(PictureIo, png_has_no_time_in_it) {
    TemporaryFolder folder;
    write_png(folder / "a.png", colours(5, 5));
    EXPECT_EQ(read_bytes(folder / "a.png").find("tIME"), std::string::npos);
    EXPECT_NE(read_bytes(folder / "a.png").find("pHYs"), std::string::npos);
}

TEST(PictureIo, float_tiff_is_one_strip_with_its_scale) {
    TemporaryFolder folder;
    const Picture in = ramp(23, 11);
    write_float_tiff(folder / "a.tif", in);
    TIFF* tiff = TIFFOpen((folder / "a.tif").c_str(), "r");
    ASSERT_NE(tiff, nullptr);
    float per_cm = 0;
    std::vector<float> row(23);
    TIFFGetField(tiff, TIFFTAG_XRESOLUTION, &per_cm);
    EXPECT_EQ(TIFFNumberOfStrips(tiff), 1u);
    for (int y = 0; y < 11; ++y) {
        TIFFReadScanline(tiff, row.data(), std::uint32_t(y));
        EXPECT_EQ(row, std::vector<float>(in.values.begin() + y * 23, in.values.begin() + (y + 1) * 23));
    }
    TIFFClose(tiff);
    EXPECT_FLOAT_EQ(per_cm, 1e6f);
}

TEST(PictureIo, what_cannot_be_written_is_reported_and_leaves_nothing) {
    TemporaryFolder folder;
    EXPECT_THROW(write_png(folder / "no/a.png", colours(2, 2)), OutputError);
    EXPECT_THROW(write_float_tiff(folder / "no/a.tif", ramp(2, 2)), OutputError);
    EXPECT_THROW(write_png(folder / "a.png", RgbPicture{}), OptionError);
    EXPECT_THROW(write_float_tiff(folder / "a.tif", Picture{2, 2, 0, {1}}), OptionError);
    on_a_full_disk(100, [&] { write_png(folder / "a.png", colours(100, 100)); });
    on_a_full_disk(1000, [&] { write_float_tiff(folder / "a.tif", ramp(100, 100)); });
    EXPECT_TRUE(folder.names().empty());
}

TEST(PictureIo, files_that_are_no_png) {
    TemporaryFolder folder;
    EXPECT_THROW(read_png(folder / "missing.png"), InputError);
    EXPECT_THROW(read_png(folder.write("empty.png", "")), InputError);
    EXPECT_THROW(read_png(folder.write("text.png", "no picture")), InputError);
    write_png(folder / "a.png", colours(50, 50));
    std::string bytes = read_bytes(folder / "a.png");
    EXPECT_THROW(read_png(folder.write("cut.png", bytes.substr(0, bytes.size() / 2))), InputError);
}

TEST(PictureIo, png_of_many_bands_is_the_same_for_any_number_of_threads) {
    TemporaryFolder folder;
    for (const auto& [width, height] : std::vector<std::pair<int, int>>{{1, 1}, {1200, 1700}, {400'000, 3}}) {
        const RgbPicture in = colours(width, height);
        write_png(folder / "all.png", in);
        EXPECT_EQ(read_png(folder / "all.png").rgb, in.rgb) << width;
        tbb::task_arena(1).execute([&] { write_png(folder / "one.png", in); });
        EXPECT_EQ(read_bytes(folder / "one.png"), read_bytes(folder / "all.png")) << width;
    }
}
