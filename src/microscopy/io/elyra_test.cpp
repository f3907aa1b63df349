// Tables of Zeiss ZEN: rows and footer of a published file.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "glint/localization_io.hpp"
#include "tests/expect_error.hpp"
#include "tests/localization_table.hpp"
#include "tests/temporary_folder.hpp"

using namespace glint;
using namespace glint::test;

namespace {

const std::string elyra_header =
    "Index\tFirst Frame\tNumber Frames\tFrames Missing\tPosition X [nm]\tPosition Y [nm]\tPrecision [nm]\tNumber "
    "Photons\t"
    "Background variance\tChi square\tPSF half width [nm]\tChannel\tZ Slice\r\n";
const std::string elyra_rows =
    "1\t1\t1\t0\t15850.6\t23502.1\t8.6\t472\t5.33\t0.28\t110.0\t1\t1\r\n"
    "2\t1\t1\t0\t25617.3\t24310.2\t9.5\t529\t4.38\t0.31\t129.8\t1\t1\r\n"
    "999\t53\t1\t0\t20111.6\t24020.9\t19.8\t132\t3.53\t0.21\t113.8\t1\t1\r\n";
const std::string elyra_end =
    "\r\nVoxelSizeX : 0.0970873786 \xb5m\r\nVoxelSizeY : 0.0970873786 \xb5m\r\nResolutionX : 0.1000000000\r\n"
    "ResolutionY : 0.1000000000\r\nSizeX : 3200\r\nSizeY : 2560\r\n\r\nROI List : \r\n";

}  // namespace

TEST(Elyra, rows_end_where_the_pixel_size_stands) {
    TemporaryFolder folder;
    Warnings warnings;
    const Localizations out =
        read_localizations(folder.write("a.txt", elyra_header + elyra_rows + elyra_end), warnings.sink());
    EXPECT_EQ(out.frame, (std::vector<std::uint32_t>{0, 0, 52}));
    EXPECT_DOUBLE_EQ(out.pixel_size_nm, 97.0873786);
    EXPECT_NEAR(out.x_px[0], 15850.6 / 97.0873786 - 0.5, 1e-4);
    EXPECT_NEAR(out.y_px[2], 24020.9 / 97.0873786 - 0.5, 1e-4);
    EXPECT_NEAR(out.lpx_px[1], 9.5 / 97.0873786, 1e-7);
    EXPECT_EQ(out.lpy_px, out.lpx_px);
    EXPECT_EQ(out.photons, (std::vector<float>{472, 529, 132}));
    EXPECT_EQ(out.extra.at("psf_half_width_nm").values[2], 113.8);
    EXPECT_EQ(out.extra.at("chi_square").values[1], 0.31);
    EXPECT_FALSE(out.extra.contains("channel") || out.extra.contains("len") || out.extra.contains("z_slice"));
    EXPECT_TRUE(out.sx_px.empty() && out.bg.empty());
    EXPECT_EQ(out.width, 320);
    EXPECT_EQ(out.height, 256);
    EXPECT_EQ(warnings.all.size(), 1u);
    EXPECT_TRUE(warnings.contain("ZEN does not document where positions are measured from"));
}

TEST(Elyra, a_table_without_its_end_needs_a_pixel_size) {
    TemporaryFolder folder;
    const auto path = folder.write("a.txt", elyra_header + elyra_rows);
    EXPECT_HAS(message_of<OptionError>([&] { read_localizations(path); }), "`table_pixel_size=100nm`");
    EXPECT_NEAR(read_localizations(path, {}, 100).x_px[0], 158.006, 1e-4);
    const std::string zeros = elyra_header + elyra_rows + std::string(3, '\0') + "\r\nVoxelSizeX : 1e9 um\r\n";
    EXPECT_EQ(read_localizations(folder.write("b.txt", zeros), {}, 100).size(), 3u);
}

TEST(Elyra, channels_and_damaged_rows_are_reported) {
    TemporaryFolder folder;
    Warnings warnings;
    const std::string other = "3\t2\t1\t0\t1\t2\t9.5\t529\t4.38\t0.31\t129.8\t2\t1\r\n";
    const Localizations out =
        read_localizations(folder.write("a.txt", elyra_header + elyra_rows + other + elyra_end), warnings.sink());
    EXPECT_EQ(out.extra.at("channel").values, (std::vector<double>{1, 1, 1, 2}));
    EXPECT_TRUE(warnings.contain("rows of several values of channel"));
    expect_error<InputError>(
        [&] { read_localizations(folder.write("b.txt", elyra_header + "1\t2\t3\r\n" + elyra_end)); },
        {"b.txt", "line 2 has 3 columns, the header 13"});
    expect_error<InputError>(
        [&] { read_localizations(folder.write("c.txt", "Index\tFirst Frame\tX\n1\t2\t3\n"), {}, 1); },
        {"has no column y: it has frame, x"});
}
