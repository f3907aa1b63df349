// Molecule lists of NIS-Elements as text.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "glint/localization_io.hpp"
#include "tests/expect_error.hpp"
#include "tests/localization_table.hpp"
#include "tests/temporary_folder.hpp"

using namespace glint;
using namespace glint::test;

namespace {

const std::string nstorm_header =
    "Channel Name\tX\tY\tXc\tYc\tHeight\tArea\tWidth\tPhi\tAx\tBG\tI\tFrame\tLength\tLink\tValid\tZ\tZc\tPhotons\t"
    "Lateral Localization Accuracy\tXw\tYw\tXwc\tYwc\n";

std::string nstorm_row(const std::string& channel, const std::string& frame, const std::string& z) {
    return channel + "\t21675.9\t15206.8\t21680.0\t15210.0\t1683.3\t13224.1\t359.7\t1.1\t0.97\t7193.7\t14167.1\t" +
           frame + "\t2\t6\t1\t" + z + "\t" + z + "\t2380.3\t16\t21675.9\t15206.8\t21760.0\t15280.0\n";
}

}  // namespace

TEST(NStorm, positions_are_the_corrected_ones) {
    TemporaryFolder folder;
    Warnings warnings;
    const Localizations out = read_localizations(
        folder.write("a.txt", nstorm_header + nstorm_row("647", "172", "-249") + nstorm_row("647", "3", "0")),
        warnings.sink(), 160);
    EXPECT_EQ(out.frame, (std::vector<std::uint32_t>{171, 2}));
    EXPECT_FLOAT_EQ(out.x_px[0], 135.5f);
    EXPECT_FLOAT_EQ(out.y_px[0], 95);
    EXPECT_EQ(out.z_nm, (std::vector<float>{-249, 0}));
    EXPECT_FLOAT_EQ(out.photons[0], 2380.3f);
    EXPECT_FLOAT_EQ(out.lpx_px[0], 0.1f);
    EXPECT_EQ(out.extra.at("width_nm").values[0], 359.7);
    EXPECT_EQ(out.extra.at("background_counts").values[0], 7193.7);
    EXPECT_TRUE(out.bg.empty() && out.sx_px.empty()) << "these are counts, and a width of an unknown kind";
    EXPECT_FALSE(out.extra.contains("channel") || out.extra.contains("X") || out.extra.contains("Xc"));
    EXPECT_TRUE(warnings.contain("NIS-Elements does not document where positions are measured from"));
    EXPECT_EQ(warnings.all.size(), 1u);
}

TEST(NStorm, the_user_chooses_other_positions) {
    TemporaryFolder folder;
    TextConventions text;
    text.columns = {{"x [nm]", "X"}, {"y [nm]", "Y"}};
    const auto path = folder.write("a.txt", nstorm_header + nstorm_row("647", "1", "5"));
    const Localizations out = read_localizations(path, {}, 160, text);
    EXPECT_NEAR(out.x_px[0], 21675.9 / 160 - 0.5, 1e-4);
    EXPECT_NEAR(out.y_px[0], 15206.8 / 160 - 0.5, 1e-4);
}

TEST(NStorm, depths_of_2d_lists_are_left_out) {
    TemporaryFolder folder;
    const auto path =
        folder.write("a.txt", nstorm_header + nstorm_row("647", "1", "0") + nstorm_row("647", "2", "0.0"));
    EXPECT_TRUE(read_localizations(path, {}, 160).z_nm.empty());
}

TEST(NStorm, channels_are_numbered_in_the_order_of_rows) {
    TemporaryFolder folder;
    std::string rows;
    for (int k = 0; k < 5000; ++k)  // several threads parse it
        rows += nstorm_row(k == 4000 ? "Z Rejected" : k % 3 == 1 ? "\"561, weak\"" : "647", std::to_string(k + 1), "7");
    Warnings warnings;
    const Localizations out = read_localizations(folder.write("a.txt", nstorm_header + rows), warnings.sink(), 160);
    const ExtraColumn& channel = out.extra.at("channel");
    EXPECT_TRUE(channel.is_integer);
    for (int k = 0; k < 5000; ++k) ASSERT_EQ(channel.values[std::size_t(k)], k == 4000 ? 2 : k % 3 == 1 ? 1 : 0) << k;
    EXPECT_TRUE(
        warnings.contain("Channel Name is written as numbers: 0 is \"647\", 1 is \"561, weak\", 2 is \"Z Rejected\""));
    EXPECT_TRUE(warnings.contain("rows of several values of channel"));
}

TEST(NStorm, damaged_lists_are_refused) {
    TemporaryFolder folder;
    std::string names;
    for (int k = 0; k < 200; ++k) names += nstorm_row(std::to_string(k), "1", "0");
    expect_error<InputError>([&] { read_localizations(folder.write("a.txt", nstorm_header + names), {}, 160); },
                             {"a.txt", "line 102", "more than 100 different values"});
    expect_error<InputError>(
        [&] { read_localizations(folder.write("b.txt", nstorm_header + nstorm_row("647", "-4", "0")), {}, 160); },
        {"frame number -4"});
    expect_error<InputError>(
        [&] {
            read_localizations(folder.write("c.txt", nstorm_header + "647\t1\t2\n" + nstorm_row("1", "1", "0")), {},
                               160);
        },
        {"line 2 has 3 columns, the header 24"});
    EXPECT_HAS(message_of<OptionError>(
                   [&] { read_localizations(folder.write("d.txt", nstorm_header + nstorm_row("647", "4", "0"))); }),
               "`table_pixel_size=100nm`");
}
