// Localizations through ThunderSTORM's and Picasso's tables as text.
// SPDX-License-Identifier: MIT
#include "glint/localization_io.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "glint/error.hpp"
#include "tests/expect_error.hpp"
#include "tests/localization_table.hpp"
#include "tests/temporary_folder.hpp"

using namespace glint;
using namespace glint::test;

TEST(Csv, thunderstorm_csv_is_in_nanometres_from_the_edge_and_frames_from_one) {
    TemporaryFolder folder;
    Localizations in;
    in.frame = {0, 7}, in.x_px = {0, 2.5f}, in.y_px = {-0.5f, 3}, in.photons = {500, 1000}, in.bg = {4, 9};
    in.sx_px = in.sy_px = {1.25f, 1.5f}, in.lpx_px = {0.1f, 0.2f}, in.lpy_px = {0.3f, 0.2f};
    in.log_likelihood = {-20, -30}, in.pixel_size_nm = 100;
    write_localizations(folder / "a.csv", in);
    EXPECT_EQ(read_bytes(folder / "a.csv"),
              "\"id\",\"frame\",\"x [nm]\",\"y [nm]\",\"sigma [nm]\",\"intensity [photon]\",\"offset [photon]\","
              "\"bkgstd [photon]\",\"chi2\",\"uncertainty_xy [nm]\"\n"
              "1,1,50,0,125,500,4,2,40,20\n"
              "2,8,300,350,150,1000,9,3,60,20\n");
}

TEST(Csv, thunderstorm_csv_reads_back) {
    TemporaryFolder folder;
    const Localizations in = full_table(500);
    write_localizations(folder / "a.csv", in);
    const Localizations out = read_localizations(folder / "a.csv", {}, in.pixel_size_nm);
    EXPECT_EQ(out.frame, in.frame);
    for (auto column : {&Localizations::x_px, &Localizations::y_px, &Localizations::z_nm, &Localizations::photons,
                        &Localizations::bg, &Localizations::sx_px, &Localizations::sy_px, &Localizations::lpz_nm})
        expect_near(out.*column, in.*column, "a column");
    EXPECT_EQ(out.extra.at("molecule"), in.extra.at("molecule"));
}

TEST(Csv, two_widths_in_2d_are_both_in_the_csv) {
    TemporaryFolder folder;
    Localizations in;
    in.frame = {0}, in.x_px = in.y_px = {1}, in.sx_px = {1}, in.sy_px = {4}, in.pixel_size_nm = 100;
    write_localizations(folder / "a.csv", in);
    EXPECT_HAS(read_bytes(folder / "a.csv"), "\"sigma [nm]\",\"sigma1 [nm]\",\"sigma2 [nm]\"\n1,1,150,150,200,100,400");
    const Localizations out = read_localizations(folder / "a.csv", {}, 100);
    EXPECT_FLOAT_EQ(out.sx_px[0], 1);
    EXPECT_FLOAT_EQ(out.sy_px[0], 4);
}

TEST(Csv, semicolons_and_tabs_separate_and_decimals_may_stand_behind_a_comma) {
    TemporaryFolder folder;
    Warnings warnings;
    const auto read = [&](const char* text) {
        return read_localizations(folder.write("a.csv", text), warnings.sink(), 100);
    };
    const Localizations points = read("frame,x [nm],y [nm],intensity [photon]\n1,150.5,250,900\n2,50,,1e3\n");
    EXPECT_FALSE(warnings.contain("decimal commas"));
    for (const char* text :
         {"frame;x [nm];y [nm];intensity [photon]\n1;150,5;250;900\n2;50;;1e3\n",
          "frame\tx [nm]\ty [nm]\tintensity [photon]\r\n1\t150,5\t250\t900\r\n2\t50\t\t1e3\r\n",
          "\"frame\";\"x [nm]\";\"y [nm]\";\"intensity [photon]\"\n1;\"150,5\";250;900\n2;50;;1e3\n"}) {
        const Localizations rows = read(text);
        EXPECT_EQ(rows.x_px, points.x_px) << text;
        EXPECT_EQ(rows.photons, points.photons) << text;
        EXPECT_TRUE(warnings.contain("decimal commas: \"150,5\" in line 2 is read as 150.5"));
    }
    EXPECT_HAS(message_of<InputError>([&] { read("frame;x [nm];y [nm]\n1;1,234.5;3\n"); }), "is no number");
    EXPECT_HAS(message_of<InputError>([&] { read("frame,x [nm],y [nm]\n1,2,5,3,5\n"); }),
               "columns are separated by semicolons or tabs");
}

TEST(Csv, a_header_that_a_spreadsheet_has_quoted_as_one_cell_is_read) {
    TemporaryFolder folder;
    const std::filesystem::path path =
        folder.write("a.csv", "\"id,\"\"frame\"\",\"\"x [nm]\"\",\"\"y [nm]\"\"\"\n1,1,250,750\n2,3,50,150\n");
    const Localizations read = read_localizations(path, {}, 100);
    EXPECT_EQ(read.frame, (std::vector<std::uint32_t>{0, 2}));
    EXPECT_EQ(read.x_px, (std::vector<float>{2, 0}));
    EXPECT_EQ(read.y_px, (std::vector<float>{7, 1}));
}

TEST(Csv, utf16_is_named_with_its_remedy) {
    TemporaryFolder folder;
    const std::string utf16(
        "\xFF\xFE"
        "f\0r\0a\0m\0e\0\n\0",
        14);
    EXPECT_HAS(message_of<InputError>([&] { read_localizations(folder.write("a.csv", utf16), {}, 100); }),
               "`iconv -f UTF-16 -t UTF-8 a.csv");
}

TEST(Csv, without_a_header_is_a_guess_that_is_reported_or_an_error) {
    TemporaryFolder folder;
    Warnings warnings;
    const auto read = [&](const char* text, const TextConventions& conventions = {}) {
        return read_localizations(folder.write("a.csv", text), warnings.sink(), 100, conventions);
    };
    EXPECT_EQ(read("1,1,50,150,-30,700\n2,4,250,50,20,800\n").frame, (std::vector<std::uint32_t>{0, 3}));
    EXPECT_TRUE(warnings.contain("id 1, frame 1, x 50, y 150, z -30, photons 700. If that is wrong"));
    for (const char* other : {"1,50.5,150,700\n", "50.5,150,1,700\n", "1,2,3\n"})
        EXPECT_HAS(message_of<InputError>([&] { read(other); }), "`column=frame=1`");
    const TextConventions given{1, {{"frame", "1"}, {"x [nm]", "2"}, {"y [nm]", "3"}, {"photons", "4"}}};
    Warnings none;
    const Localizations rows =
        read_localizations(folder.write("b.csv", "1,50,150,700\n3,250,50,800\n"), none.sink(), 100, given);
    EXPECT_EQ(rows.frame, (std::vector<std::uint32_t>{0, 2}));
    EXPECT_EQ(rows.x_px, (std::vector<float>{0, 2}));
    EXPECT_EQ(rows.photons, (std::vector<float>{700, 800}));
    EXPECT_FALSE(none.contain("guess"));
    EXPECT_HAS(message_of<OptionError>([&] { read("1,50,150,700\n", {1, {{"frame", "9"}}}); }), "has no column \"9\"");
}

TEST(Csv, csv_of_old_versions_windows_and_without_a_last_newline) {
    TemporaryFolder folder;
    const auto path =
        folder.write("a.csv",
                     "\xEF\xBB\xBF\"id\", \"frame\",\"x [nm]\",\"y [nm]\",\"uncertainty [nm]\",\"my, \"\"col\"\"\"\r\n"
                     "1,1.0,50,150,10,1e3\r\n"
                     "2,3, 250 ,50,20,");
    const Localizations out = read_localizations(path, {}, 100);
    EXPECT_EQ(out.frame, (std::vector<std::uint32_t>{0, 2}));
    EXPECT_EQ(out.x_px, (std::vector<float>{0, 2}));
    EXPECT_EQ(out.y_px, (std::vector<float>{1, 0}));
    EXPECT_EQ(out.lpx_px, (std::vector<float>{0.1f, 0.2f}));
    EXPECT_EQ(out.lpy_px, out.lpx_px);
    EXPECT_EQ(out.extra.at("my, \"col\"").values[0], 1000);
    EXPECT_TRUE(std::isnan(out.extra.at("my, \"col\"").values[1]));
    EXPECT_EQ(out.pixel_size_nm, 100);
    EXPECT_EQ(out.width, 3);
    EXPECT_EQ(out.frames, 3);
}

TEST(Csv, csv_of_old_macs_and_one_that_ends_in_its_header) {
    TemporaryFolder folder;
    folder.write("mac.csv", "\"frame\",\"x [nm]\",\"y [nm]\"\r1,50,150\r2,250,350\r");
    const Localizations rows = read_localizations(folder / "mac.csv", {}, 100);
    EXPECT_EQ(rows.frame, (std::vector<std::uint32_t>{0, 1}));
    EXPECT_EQ(rows.y_px, (std::vector<float>{1, 3}));
    folder.write("cut.csv", "\"frame\",\"x [nm]\",\"y [nm]\"");
    std::string said;
    EXPECT_EQ(read_localizations(
                  folder / "cut.csv", [&](const std::string& text) { said = text; }, 100)
                  .size(),
              0u);
    EXPECT_NE(said.find("cut.csv: there is a header alone"), std::string::npos) << said;
}

TEST(Csv, csv_with_what_it_should_not_have) {
    TemporaryFolder folder;
    const std::string header = "frame,x [nm],y [nm],note\n";
    const auto read = [&](const std::string& text, double pixel_size_nm = 100, const Warn& warn = {}) {
        return read_localizations(folder.write("a.csv", text), warn, pixel_size_nm);
    };
    Warnings warnings;
    const Localizations kept = read(header + "1,2,3,hello\n2,2,3,4\n", 100, warnings.sink());
    EXPECT_EQ(kept.size(), 2u);
    EXPECT_TRUE(kept.extra.empty());
    EXPECT_TRUE(warnings.contain("column note is left out: \"hello\" in line 2"));

    EXPECT_EQ(read(header + "1,2,3,4\n2,2", 100, warnings.sink()).size(), 1u);
    EXPECT_TRUE(warnings.contain("the last line is cut off"));
    EXPECT_EQ(read(header + "1,2,3,4\n2,2,3,41", 100, warnings.sink()).size(), 2u) << "some programs end no last line";
    EXPECT_TRUE(warnings.contain("if the file is cut off, its last value, \"41\" in line 3, is not whole"));
    Warnings none;
    read(header + "1,2,3,4\n2,2,3,41\n", 100, none.sink());
    EXPECT_FALSE(none.contain("cut off"));
    EXPECT_EQ(read(header + "0,2,3,4\n1,2,3,4\n", 100, warnings.sink()).frame, (std::vector<std::uint32_t>{0, 1}));
    EXPECT_TRUE(warnings.contain("`first_frame=0`"));
    EXPECT_EQ(read(header + "1,nan,3,4\n1,2,Infinity,4\n5,2,3,4\n", 100, warnings.sink()).size(), 1u);
    EXPECT_TRUE(warnings.contain("2 of 3 rows hold NaN or infinity"));

    EXPECT_HAS(message_of<InputError>([&] { read(header + "1,2,3,4\n1,oops,3,4\n"); }),
               "line 3: \"oops\" in column x [nm] is no number");
    EXPECT_HAS(message_of<InputError>([&] { read(header + "1,2,3\n1,2,3,4\n"); }),
               "line 2 has 3 columns, the header 4");
    EXPECT_HAS(message_of<InputError>([&] { read("a,b\n1,2\n"); }), "has no column frame: it has a, b");
    EXPECT_HAS(message_of<InputError>([&] { read(header + "-1.5,2,3,4\n"); }), "frame number -1.5");
    EXPECT_HAS(message_of<InputError>([&] { read(header + "-1,2,3,4\n"); }), "frame number -1");
    EXPECT_HAS(message_of<InputError>([&] { read(std::string(3 << 20, '7')); }), "longer than 1048576 bytes");
    EXPECT_HAS(message_of<InputError>([&] { read(std::string("\x7f\x45\x00\x00", 4)); }), "neither HDF5 nor CSV");
    EXPECT_HAS(message_of<OptionError>([&] { read(header + "1,2,3,4\n", 0); }), "`table_pixel_size=100nm`");
}

TEST(Csv, picassos_own_table_as_text_is_in_pixels) {
    TemporaryFolder folder;
    const auto path = folder.write("a.csv", "frame,x,y,photons,lpx,lpy\n0,1.5,2,100,0.1,0.2\n");
    const Localizations out = read_localizations(path, {}, 100);
    EXPECT_EQ(out.frame[0], 0u);
    EXPECT_EQ(out.x_px[0], 1.5f);
    EXPECT_EQ(out.lpy_px[0], 0.2f);
}

namespace {

Localizations read_one(const TemporaryFolder& folder, const std::string& x, const std::string& z,
                       const std::string& photons, const std::string& row) {
    const std::string header = "frame,x [" + x + "],y [nm],z [" + z + "],intensity [" + photons + "]\n";
    return read_localizations(folder.write("a.csv", header + "1," + row + "\n"), {}, 100);
}

}  // namespace

TEST(Csv, lengths_in_any_unit) {
    TemporaryFolder folder;
    const std::pair<const char*, double> units[] = {
        {"nm", 1},    {"um", 1e3}, {"\xc2\xb5m", 1e3}, {"\xce\xbcm", 1e3}, {"mm", 1e6}, {"cm", 1e7},      {"m", 1e9},
        {"pm", 1e-3}, {"A", 0.1},  {"\xc3\x85", 0.1},  {" NM ", 1},        {"px", 100}, {"Angstrom", 0.1}};
    for (const auto& [unit, nm] : units) {
        const auto row = fmt::format("{},0,{},700", 250 / nm, 30 / nm);
        const Localizations out = read_one(folder, unit, unit, "photon", row);
        EXPECT_NEAR(out.x_px[0], 2.5 - 0.5, 1e-6) << unit;
        EXPECT_NEAR(out.z_nm[0], 30, 1e-5) << unit;
    }
}

TEST(Csv, units_that_are_not_understood_name_their_column) {
    TemporaryFolder folder;
    const auto message = [&](const char* x, const char* z, const char* photons) {
        return message_of<InputError>([&] { read_one(folder, x, z, photons, "1,2,3,4"); });
    };
    EXPECT_HAS(message("inch", "nm", "photon"), "column \"x [inch]\" is not understood: lengths are read in nm, um");
    EXPECT_HAS(message("nm", "s", "photon"), "column \"z [s]\"");
    EXPECT_HAS(message("ADU", "nm", "photon"), "column \"x [ADU]\"");
    EXPECT_TRUE(read_one(folder, "nm", "nm", "ADU", "1,2,3,4").photons.empty());
    EXPECT_EQ(read_one(folder, "nm", "nm", "au", "1,2,3,4").extra.at("intensity [au]").values[0], 4);
    for (const char* unit : {"photon", "photons", "e-", "Photoelectrons", "photons/px", ""})
        EXPECT_EQ(read_one(folder, "nm", "nm", unit, "1,2,3,4").photons[0], 4) << unit;
    const auto truth = folder.write("t.csv", "Ground-truth,frame,x (furlong),y (nm)\n1,1,2,3\n");
    EXPECT_HAS(message_of<InputError>([&] { read_truth(truth, 100); }), "t.csv: the unit of column \"x (furlong)\"");
}

TEST(Csv, frames_of_long_movies) {
    TemporaryFolder folder;
    const auto path = folder.write("a.csv", "frame,x [nm],y [nm]\n2147483649,1,2\n4294967295,1,2\n");
    EXPECT_EQ(read_localizations(path, {}, 100).frame, (std::vector<std::uint32_t>{2147483648u, 4294967294u}));
}

TEST(Csv, a_frame_number_beyond_those_that_count_from_1_is_refused) {
    TemporaryFolder folder;
    TextConventions from_0;
    from_0.first_frame = 0;
    const auto path = folder.write("a.csv", "frame,x [nm],y [nm]\n1,1,2\n4294967295,1,2\n");
    EXPECT_HAS(message_of<InputError>([&] { read_localizations(path, {}, 100, from_0); }), "4294967294");
}

// h5py cannot read a table with a name that is not UTF-8.
TEST(Csv, names_of_columns_in_latin1_become_utf8) {
    TemporaryFolder folder;
    Warnings warnings;
    const auto path = folder.write("a.csv",
                                   "frame,x [\xb5m],y [nm],gr\xf6\xdf"
                                   "e,gr\xc3\xbcn\n1,1,2,3,4\n");
    const Localizations out = read_localizations(path, warnings.sink(), 100);
    EXPECT_FLOAT_EQ(out.x_px.at(0), 9.5f);
    EXPECT_TRUE(
        out.extra.contains("gr\xc3\xb6\xc3\x9f"
                           "e"));
    EXPECT_TRUE(out.extra.contains("gr\xc3\xbcn"));
    EXPECT_TRUE(warnings.contain("is no UTF-8, and is taken for Latin-1"));
}

// DECODE's name of the frame is a further column if the table has a column frame.
TEST(Csv, frame_ix_beside_frame_is_kept) {
    TemporaryFolder folder;
    for (const char* header : {"frame,x [nm],y [nm],frame_ix", "frame,xnm,ynm,frame_ix"}) {
        const Localizations out =
            read_localizations(folder.write("a.csv", std::string(header) + "\n5,100,200,7\n"), {}, 100);
        EXPECT_EQ(out.frame, (std::vector<std::uint32_t>{4})) << header;
        EXPECT_EQ(out.extra.at("frame_ix").values, std::vector<double>{7}) << header;
    }
}

TEST(Csv, names_with_line_ends_are_left_out) {
    TemporaryFolder folder;
    Localizations in;
    in.frame = {0}, in.x_px = in.y_px = {1}, in.pixel_size_nm = 100;
    in.extra["l\nf"].values = {7}, in.extra["l f"].values = {8};
    Warnings warnings;
    write_localizations(folder / "a.csv", in, warnings.sink());
    EXPECT_TRUE(warnings.contain("no place for the columns l\nf:"));
    EXPECT_EQ(read_localizations(folder / "a.csv", {}, 100).extra.at("l f").values, std::vector<double>{8});
}
