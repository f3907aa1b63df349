// SMAP's tables: its CSV, and its .mat files of both kinds.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cmath>

#include "glint/error.hpp"
#include "glint/localization_io.hpp"
#include "tests/localization_table.hpp"
#include "tests/temporary_folder.hpp"

using namespace glint;
using namespace glint::test;

namespace {

/// What comes back from a file of SMAP that was written of `in`.
void expect_smap(const Localizations& out, const Localizations& in) {
    EXPECT_EQ(out.frame, in.frame);
    for (const LocalizationColumn& column : localization_columns())
        expect_near(out.*column.values, in.*column.values, std::string(column.name));
    EXPECT_EQ(out.iterations, in.iterations);
    EXPECT_EQ(out.status, in.status);
    EXPECT_EQ(out.extra.size(), in.extra.size());
    for (const auto& [name, column] : in.extra) {
        ASSERT_TRUE(out.extra.contains(name)) << name;
        EXPECT_EQ(out.extra.at(name).values, column.values) << name;
        EXPECT_EQ(out.extra.at(name).is_integer, column.is_integer) << name;
    }
}

}  // namespace

TEST(Smap, csv_comes_back) {
    TemporaryFolder folder;
    const Localizations in = full_table(700);
    Warnings told;
    write_localizations(folder / "a.smap.csv", in, told.sink());
    expect_smap(read_localizations(folder / "a.smap.csv", told.sink(), in.pixel_size_nm), in);
    EXPECT_TRUE(told.all.empty()) << told.all.front();
    EXPECT_HAS(message_of<OptionError>([&] { read_localizations(folder / "a.smap.csv"); }), "--pixel-size");
    Localizations without_size = in;
    without_size.pixel_size_nm = 0;
    EXPECT_HAS(message_of<OptionError>([&] { write_localizations(folder / "b.smap.csv", without_size); }),
               "--pixel-size");
}

// MATLAB numbers pixels from 1, so SMAP's first pixel has its centre at one pixel size.
TEST(Smap, csv_counts_pixels_and_frames_from_one) {
    TemporaryFolder folder;
    const auto path = folder.write("a.csv",
                                   "frame,xnm,ynm,znm,phot,bg,locprecnm,PSFxnm,channel,LLrel\n"
                                   "1,100,250,-30,900,8,12,130,0,-1.5\n3,1100,400,20,700,7,15,140,1,-1.25\n");
    Warnings told;
    const Localizations out = read_localizations(path, told.sink(), 100);
    EXPECT_EQ(out.frame, (std::vector<std::uint32_t>{0, 2}));
    expect_near(out.x_px, {0, 10}, "x");
    expect_near(out.y_px, {1.5f, 3}, "y");
    expect_near(out.z_nm, {-30, 20}, "z");
    expect_near(out.lpy_px, {0.12f, 0.15f}, "lpy");
    expect_near(out.sy_px, {1.3f, 1.4f}, "sy");
    EXPECT_EQ(out.extra.at("LLrel").values, (std::vector<double>{-1.5, -1.25}));
    EXPECT_TRUE(told.contain("has rows of several values of channel"));
    // What the user says of a column counts.
    const Localizations mine = read_localizations(path, {}, 100, {{}, {{"photons", "LLrel"}}});
    expect_near(mine.photons, {-1.5f, -1.25f}, "photons");
    expect_near(mine.x_px, {0, 10}, "x");
}

TEST(Smap, names_that_matlab_lacks_are_told) {
    TemporaryFolder folder;
    Localizations in = full_table(5);
    for (const char* name : {"two words", "1st", "xnm", "xpix"}) in.extra[name].values.assign(5, 7);
    Warnings told;
    write_localizations(folder / "a.smap.csv", in, told.sink());
    ASSERT_EQ(told.all.size(), 1u);
    EXPECT_HAS(told.all.front(), "no place for the columns 1st, two words, xnm, xpix:");
}
