// rapidSTORM's tables, with headers and rows of its own files.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "glint/localization_io.hpp"
#include "tests/expect_error.hpp"
#include "tests/localization_table.hpp"
#include "tests/temporary_folder.hpp"

using namespace glint;
using namespace glint::test;

namespace {

std::string field(const std::string& identifier, const std::string& semantic, const std::string& unit,
                  const std::string& more = "") {
    return "<field identifier=\"" + identifier +
           "\" syntax=\"floating point with . for decimals and optional scientific e-notation\" semantic=\"" +
           semantic + "\" unit=\"" + unit + "\" " + more + "/>";
}

std::string position(int axis, const std::string& unit = "nanometer", const std::string& max = "1.69545e-005 m") {
    return field("Position-" + std::to_string(axis) + "-0",
                 "position in sample space in " + std::string(1, "XYZ"[axis]), unit,
                 "min=\"0 m\" max=\"" + max + "\" ");
}

const std::string frame = field("ImageNumber-0-0", "frame number", "frame", "min=\"0 fr\" max=\"21250 fr\" ");
const std::string amplitude = field("Amplitude-0-0", "emission strength", "A/D count");

std::string table(const std::string& fields, const std::string& rows) {
    return "# <localizations insequence=\"true\" repetitions=\"variable\">" + fields + "</localizations>\n" + rows;
}

}  // namespace

TEST(RapidStorm, positions_are_from_the_first_pixels_centre_and_widths_are_full_ones) {
    TemporaryFolder folder;
    Warnings warnings;
    // 127 steps of 133.5 nm: a movie of 128 pixels
    const auto path =
        folder.write("a.txt", table(position(0) + position(1) + frame + amplitude +
                                        field("PSFWidth-0-0", "PSF FWHM in X", "nanometer") +
                                        field("PSFWidth-1-0", "PSF FWHM in Y", "nanometer") +
                                        field("FitResidues-0-0", "fit residue chi square value", "dimensionless") +
                                        field("LocalBackground-0-0", "local background", "A/D count"),
                                    "11135.1 4757.58 1 2213.93 345.357 424.191 87112.5 530.336\n"
                                    "16954.5 0 0 2841.81 306.655  407.985 1.19225e+006 536.402\n"));
    const Localizations out = read_localizations(path, warnings.sink(), 133.5);
    EXPECT_EQ(out.frame, (std::vector<std::uint32_t>{1, 0}));
    EXPECT_FLOAT_EQ(out.x_px[0], float(11135.1 / 133.5));
    EXPECT_FLOAT_EQ(out.x_px[1], 127);
    EXPECT_FLOAT_EQ(out.y_px[1], 0);
    EXPECT_FLOAT_EQ(out.sx_px[0], float(345.357 / 2.3548200 / 133.5));
    EXPECT_FLOAT_EQ(out.sy_px[1], float(407.985 / 2.3548200 / 133.5));
    EXPECT_EQ(out.extra.at("amplitude").values, (std::vector<double>{2213.93, 2841.81}));
    EXPECT_EQ(out.extra.at("fit_residues").values[1], 1.19225e6);
    EXPECT_EQ(out.extra.at("local_background").values[0], 530.336);
    EXPECT_TRUE(out.photons.empty() && out.bg.empty());
    EXPECT_EQ(out.width, 128);
    EXPECT_EQ(out.height, 128);
    EXPECT_EQ(out.frames, 21251);
    EXPECT_TRUE(warnings.contain("amplitude is in A/D counts, not in photons"));
    EXPECT_EQ(warnings.all.size(), 1u);
}

TEST(RapidStorm, units_uncertainties_and_depths) {
    TemporaryFolder folder;
    const std::string fields =
        position(1, "meter") + position(0, "pixel") + position(2, "micrometer") + frame +
        field("Position-0-0-uncertainty", "position uncertainty in sample space in X", "nanometer");
    const auto path = folder.write("a.txt", table(fields, "2e-7 3.25 -0.3 4 25\n"));
    const Localizations out = read_localizations(path, {}, 100);
    EXPECT_FLOAT_EQ(out.x_px[0], 3.25f);
    EXPECT_FLOAT_EQ(out.y_px[0], 2);
    EXPECT_FLOAT_EQ(out.z_nm[0], -300);
    EXPECT_FLOAT_EQ(out.lpx_px[0], 0.25f);
}

TEST(RapidStorm, a_pixel_size_that_does_not_fit_is_reported) {
    TemporaryFolder folder;
    Warnings warnings;
    const auto path = folder.write("a.txt", table(position(0) + position(1) + frame, "1 2 3\n"));
    EXPECT_EQ(read_localizations(path, warnings.sink(), 100).width, 1);
    EXPECT_TRUE(warnings.contain("16954.5 nm in x, which is no whole number of pixels of 100 nm (169.5"));
    EXPECT_HAS(message_of<OptionError>([&] { read_localizations(path); }), "`table_pixel_size=100nm`");
}

TEST(RapidStorm, a_column_may_be_named_by_the_user) {
    TemporaryFolder folder;
    TextConventions text;
    text.columns = {{"photons", "Amplitude-0-0"}, {"x [px]", "Position-0-0"}};
    const auto path = folder.write("a.txt", table(position(0) + position(1) + frame + amplitude, "1 2 3 400\n"));
    Warnings warnings;
    const Localizations out = read_localizations(path, warnings.sink(), 100, text);
    EXPECT_EQ(out.photons, std::vector<float>{400});
    EXPECT_EQ(out.x_px, std::vector<float>{1});
    EXPECT_FALSE(warnings.contain("amplitude"));
}

TEST(RapidStorm, tracks_and_damaged_files_are_refused) {
    TemporaryFolder folder;
    const auto read = [&](const std::string& text) {
        return read_localizations(folder.write("a.txt", text), {}, 100).size();
    };
    const std::string fields = position(0) + position(1) + frame;
    expect_error<InputError>([&] { read(table(fields + table(fields, "").substr(2), "1 2 3 1 1 2 3\n")); },
                             {"a.txt", "rapidSTORM's tracks", "glint link"});
    expect_error<InputError>([&] { read(table(position(0) + frame, "1 2\n")); }, {"has no column y"});
    const std::string whole = table(fields, "1 2 3\n"), header = whole.substr(0, whole.find('\n'));
    for (const std::size_t cut : {std::size_t(30), header.size() / 2, header.size() - 15, header.size() - 1})
        expect_error<InputError>([&] { read(header.substr(0, cut)); },
                                 {"a.txt", "ends before </localizations>", "cut"});
    expect_error<InputError>([&] { read(table(fields, "1 2 3\n1 2\n1 2 3\n")); },
                             {"line 3 has 2 columns, the header 3"});
    expect_error<InputError>([&] { read(table(fields, "1 2 -3\n")); }, {"frame number -3"});
    expect_error<InputError>([&] { read(table(position(0, "furlong") + position(1) + frame, "1 2 3\n")); },
                             {"Position-0-0", "not understood"});
    EXPECT_EQ(read(table(fields, "nan 2 3\n1 2 3\n")), 1u);
}
