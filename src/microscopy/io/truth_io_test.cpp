// Known truths through files.
// SPDX-License-Identifier: MIT
#include "glint/localization_io.hpp"

#include <gtest/gtest.h>

#include "glint/error.hpp"
#include "tests/localization_table.hpp"
#include "tests/temporary_folder.hpp"

using namespace glint;
using namespace glint::test;

TEST(Truth, truth_reads_back) {
    TemporaryFolder folder;
    Localizations in;
    in.frame = {0, 5}, in.x_px = {0, 3.25f}, in.y_px = {-0.25f, 7}, in.z_nm = {-120, 35}, in.photons = {900, 1100};
    in.sx_px = {1.25f, 1.5f}, in.sy_px = {1.5f, 1.75f}, in.extra["molecule"] = {{123456789, 2}, true},
    in.pixel_size_nm = 100;
    write_truth(folder / "t.csv", in);
    EXPECT_EQ(read_bytes(folder / "t.csv"),
              "frame,x_nm,y_nm,z_nm,photons,sx_nm,sy_nm,molecule\n"
              "0,0,-25,-120,900,125,150,123456789\n5,325,700,35,1100,150,175,2\n");
    const Localizations out = read_truth(folder / "t.csv", 100);
    EXPECT_EQ(out.frame, in.frame);
    EXPECT_EQ(out.x_px, in.x_px);
    EXPECT_EQ(out.y_px, in.y_px);
    EXPECT_EQ(out.z_nm, in.z_nm);
    EXPECT_EQ(out.photons, in.photons);
    EXPECT_EQ(out.sx_px, in.sx_px);
    EXPECT_EQ(out.sy_px, in.sy_px);
    EXPECT_EQ(out.extra, in.extra);
    EXPECT_THROW(read_truth(folder / "t.csv", 0), OptionError);
}

TEST(Truth, truth_without_a_header_is_id_frame_x_y) {
    TemporaryFolder folder;
    const Localizations six = read_truth(folder.write("6.csv", "1,1,50,150,-30,700\n2,4,250,50,20,800\n"), 100);
    EXPECT_EQ(six.frame, (std::vector<std::uint32_t>{0, 3}));
    EXPECT_EQ(six.x_px, (std::vector<float>{0, 2}));
    EXPECT_EQ(six.z_nm, (std::vector<float>{-30, 20}));
    EXPECT_EQ(six.photons, (std::vector<float>{700, 800}));
    const Localizations five = read_truth(folder.write("5.csv", "1,1,50,150,700\n"), 100);
    EXPECT_TRUE(five.z_nm.empty());
    EXPECT_TRUE(five.photons.empty());
    const auto challenge =
        folder.write("c.csv", "Ground-truth,frame,xnano,ynano,znano,intensity \n1,2,150,250,9,500\n");
    EXPECT_EQ(read_truth(challenge, 100).y_px[0], 2);
    EXPECT_EQ(read_truth(challenge, 100).photons[0], 500);
}

TEST(Truth, third_party_truth) {
    const auto path = data_file("sim_3d_astigmatic_low_density_truth.csv");
    if (!std::filesystem::exists(path)) GTEST_SKIP() << "no " << path << ": GLINT_DATA names the folder";
    const Localizations truth = read_truth(path, 100);
    ASSERT_EQ(truth.size(), 6322u);
    EXPECT_EQ(truth.frame[0], 0u);
    EXPECT_NEAR(truth.x_px[0], 2706.88563875974 / 100 - 0.5, 2e-6);
    EXPECT_NEAR(truth.z_nm[0], -91.3646487508248, 1e-5);
    EXPECT_EQ(truth.photons[0], 2400);
    EXPECT_EQ(truth.width, 32);
    EXPECT_EQ(truth.frames, 1000);
}
