// SMAP's tables: its CSV, and its .mat files of both kinds.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <zlib.h>

#include <cmath>
#include <cstring>
#include <utility>

#include "glint/error.hpp"
#include "glint/localization_io.hpp"
#include "glint/localization_reader.hpp"
#include "tests/localization_table.hpp"
#include "tests/temporary_folder.hpp"

using namespace glint;
using namespace glint::test;

namespace {

/// Expects what is restored from an SMAP file written from `in`.
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
    EXPECT_HAS(message_of<OptionError>([&] { read_localizations(folder / "a.smap.csv"); }), "`table_pixel_size=100nm`");
    Localizations without_size = in;
    without_size.pixel_size_nm = 0;
    EXPECT_HAS(message_of<OptionError>([&] { write_localizations(folder / "b.smap.csv", without_size); }),
               "`written_pixel_size=100nm`");
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
    // The user's name of a column has precedence.
    const Localizations mine = read_localizations(path, {}, 100, {{}, {{"photons", "LLrel"}}});
    expect_near(mine.photons, {-1.5f, -1.25f}, "photons");
    expect_near(mine.x_px, {0, 10}, "x");
}

TEST(Smap, names_that_matlab_lacks_are_reported) {
    TemporaryFolder folder;
    Localizations in = full_table(5);
    for (const char* name : {"two words", "1st", "xnm", "xpix"}) in.extra[name].values.assign(5, 7);
    Warnings told;
    write_localizations(folder / "a.smap.csv", in, told.sink());
    ASSERT_EQ(told.all.size(), 1u);
    EXPECT_HAS(told.all.front(), "no place for the columns 1st, two words, xnm, xpix:");
}

namespace {

/// Builds MATLAB files of version 5, element by element.
std::string element(std::uint32_t type, std::string bytes) {
    std::string out(8, '\0');
    const auto size = std::uint32_t(bytes.size());
    std::memcpy(out.data(), &type, 4), std::memcpy(out.data() + 4, &size, 4);
    bytes.resize((bytes.size() + 7) / 8 * 8);
    return out + bytes;
}

template <class T>
std::string num_bytes(const std::vector<T>& values) {
    return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

std::string matrix(std::uint32_t array_class, std::vector<std::int32_t> dimensions, const std::string& name,
                   const std::string& contents) {
    return element(14, element(6, num_bytes(std::vector<std::uint32_t>{array_class, 0})) +
                           element(5, num_bytes(dimensions)) + element(1, name) + contents);
}

template <class T>
std::string column(std::uint32_t array_class, std::uint32_t type, const std::vector<T>& values, bool is_row = false) {
    const auto n = std::int32_t(values.size());
    return matrix(array_class, is_row ? std::vector{1, n} : std::vector{n, 1}, "", element(type, num_bytes(values)));
}
std::string singles(const std::vector<float>& values) { return column(7, 7, values); }
std::string doubles(const std::vector<double>& values) { return column(6, 9, values, true); }

using Fields = std::vector<std::pair<std::string, std::string>>;

/// `fields`: those of each structure, one structure after another.
std::string structure(const std::string& name, const Fields& fields, std::size_t structures = 1) {
    constexpr std::size_t length = 32;
    std::string names, contents;
    for (std::size_t k = 0; k < fields.size() / structures; ++k) {
        std::string padded = fields[k].first;
        padded.resize(length);
        names += padded;
    }
    for (const auto& [field, bytes] : fields) contents += bytes;
    return matrix(2, {1, std::int32_t(structures)}, name,
                  element(5, num_bytes(std::vector<std::int32_t>{length})) + element(1, names) + contents);
}

std::string packed(const std::string& bytes) {
    std::string out(compressBound(bytes.size()), '\0');
    uLongf size = out.size();
    compress(reinterpret_cast<Bytef*>(out.data()), &size, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
    out.resize(size);
    std::string tag(8, '\0');
    const std::uint32_t type = 15, length = std::uint32_t(size);
    std::memcpy(tag.data(), &type, 4), std::memcpy(tag.data() + 4, &length, 4);
    return tag + out;
}

std::string mat5(const std::string& variables) {
    std::string header = "MATLAB 5.0 MAT-file";
    header.resize(124, ' ');
    return header + std::string("\0\1IM", 4) + variables;
}

Fields table_fields() {
    return {{"frame", doubles({1, 3, 3})},
            {"xnm", singles({1300, 1400, 1550})},
            {"ynm", singles({2100, 2200, 2300})},
            {"znm", singles({-30, 0, 20})},
            {"phot", singles({900, 800, 700})},
            {"locprecnm", singles({10, 11, 12})},
            {"PSFxnm", singles({130, 130, 140})},
            {"xpix", singles({1, 2, 3})},
            {"channel", singles({0, 0, 0})},
            {"filenumber", column(9, 2, std::vector<std::uint8_t>{1, 1, 1})},
            {"names", matrix(1, {3, 1}, "", singles({}) + singles({}) + singles({}))},
            {"short", singles({5, 6})}};
}

Fields info_fields(double pixel_um = 0.1) {
    return {{"cam_pixelsize_um", doubles({pixel_um, 2 * pixel_um})},
            {"roi", doubles({10, 9, 64, 32})},
            {"numberOfFrames", doubles({500})}};
}

std::string saveloc(const Fields& loc, const std::string& file) {
    return structure("saveloc",
                     {{"average", singles(std::vector<float>(1000, 3))}, {"loc", structure("", loc)}, {"file", file}});
}

std::string one_file() { return structure("", {{"name", singles({1})}, {"info", structure("", info_fields())}}); }

/// A ROI whose corner is (10, 9), and pixels of 100 x 200 nm.
void expect_small_table(const Localizations& out) {
    EXPECT_EQ(out.frame, (std::vector<std::uint32_t>{0, 2, 2}));
    expect_near(out.x_px, {2, 3, 4.5f}, "x");
    expect_near(out.y_px, {0.5f, 1, 1.5f}, "y");
    expect_near(out.z_nm, {-30, 0, 20}, "z");
    expect_near(out.photons, {900, 800, 700}, "photons");
    expect_near(out.lpx_px, {0.1f, 0.11f, 0.12f}, "lpx");
    expect_near(out.lpy_px, {0.05f, 0.055f, 0.06f}, "lpy");
    expect_near(out.sy_px, {0.65f, 0.65f, 0.7f}, "sy");
    EXPECT_TRUE(out.extra.empty()) << out.extra.begin()->first;
    EXPECT_EQ(out.width, 64);
    EXPECT_EQ(out.height, 32);
    EXPECT_EQ(out.frames, 500);
    EXPECT_EQ(out.pixel_size_nm, 100);
}

}  // namespace

TEST(Smap, mat_comes_back) {
    TemporaryFolder folder;
    Localizations in = full_table(20'000);  // several blocks
    in.history = {"Generated by: \"x\"\n"};
    Warnings told;
    write_localizations(folder / "a_sml.mat", in, told.sink());
    EXPECT_EQ(read_bytes(folder / "a_sml.mat").substr(0, 19), "MATLAB 7.3 MAT-file");
    const Localizations out = read_localizations(folder / "a_sml.mat", told.sink());
    EXPECT_TRUE(told.all.empty()) << told.all.front();
    expect_smap(out, in);
    EXPECT_EQ(out.width, in.width);
    EXPECT_EQ(out.height, in.height);
    EXPECT_EQ(out.frames, in.frames);
    EXPECT_EQ(out.pixel_size_nm, in.pixel_size_nm);
    EXPECT_EQ(out.history.size(), 1u);
    EXPECT_EQ(read_history(folder / "a_sml.mat").size(), 1u);
}

TEST(Smap, mat_without_rows_comes_back) {
    TemporaryFolder folder;
    Localizations in;
    in.pixel_size_nm = 100, in.width = 10, in.height = 20;
    write_localizations(folder / "a_sml.mat", in);
    const Localizations out = read_localizations(folder / "a_sml.mat");
    EXPECT_EQ(out.size(), 0u);
    EXPECT_EQ(out.width, 10);
}

TEST(Smap, mat_of_version_5) {
    TemporaryFolder folder;
    const std::string table = saveloc(table_fields(), one_file());
    Warnings told;
    expect_small_table(read_localizations(folder.write("plain_sml.mat", mat5(table)), told.sink()));
    EXPECT_TRUE(told.contain("no list of real numbers are left out: names"));
    EXPECT_TRUE(told.contain("not as many values as frame, 3, are left out: short (2 values)"));
    const std::string others = packed(matrix(6, {1, 1}, "other", element(9, num_bytes(std::vector<double>{7}))));
    expect_small_table(read_localizations(folder.write("packed_sml.mat", mat5(others + packed(table)))));
}

TEST(Smap, mat_of_several_movies) {
    TemporaryFolder folder;
    const auto files = [](double second_pixel_um) {
        return structure(
            "", {{"info", structure("", info_fields())}, {"info", structure("", info_fields(second_pixel_um))}}, 2);
    };
    expect_small_table(read_localizations(folder.write("a_sml.mat", mat5(saveloc(table_fields(), files(0.1))))));
    EXPECT_HAS(message_of<InputError>(
                   [&] { read_localizations(folder.write("b_sml.mat", mat5(saveloc(table_fields(), files(0.2))))); }),
               "localizations of 2 movies whose pixel sizes or ROIs differ");
}

TEST(Smap, mat_without_a_pixel_size_asks_for_it) {
    TemporaryFolder folder;
    const auto path = folder.write("a_sml.mat", mat5(saveloc(table_fields(), singles({}))));
    EXPECT_HAS(message_of<OptionError>([&] { read_localizations(path); }), "`table_pixel_size=100nm`");
    expect_near(read_localizations(path, {}, 100).x_px, {12, 13, 14.5f}, "x");
}

TEST(Smap, damaged_mat) {
    TemporaryFolder folder;
    const auto read = [&](const std::string& bytes) {
        return message_of<InputError>([&] { read_localizations(folder.write("a_sml.mat", bytes), {}, 100); });
    };
    const std::string whole = mat5(saveloc(table_fields(), one_file()));
    int refused = 0;
    for (std::size_t bytes = 200; bytes < whole.size(); bytes += 97)
        refused += read(whole.substr(0, bytes)) != "no exception";
    EXPECT_GT(refused, 40);  // a file that ends after the last column may be complete
    Fields fields = table_fields();
    fields[1].second = singles({1, 2});
    EXPECT_HAS(read(mat5(saveloc(fields, one_file()))), "saveloc.loc.xnm has 2 values, frame has 3");
    fields.erase(fields.begin() + 1);
    EXPECT_HAS(read(mat5(saveloc(fields, one_file()))), "saveloc.loc has no numeric field xnm");
    fields = table_fields();
    fields[1].second = matrix(7, {3, 1}, "", element(7, num_bytes(std::vector<float>{1})));
    EXPECT_HAS(read(mat5(saveloc(fields, one_file()))), "xnm says that it has 3 numbers, and holds 4 bytes of them");
    fields[1].second = matrix(7, {0x7fffffff, 0x7fffffff}, "", element(7, ""));
    EXPECT_HAS(read(mat5(saveloc(fields, one_file()))), "saveloc.loc has no numeric field xnm");
    // Changing any byte gives an error or a table, but no crash.
    const std::string compressed = mat5(packed(saveloc(table_fields(), one_file())));
    for (std::size_t at = 128; at < compressed.size(); at += 5) {
        std::string damaged = compressed;
        damaged[at] = char(damaged[at] ^ 0x55);
        read(damaged);
    }
    for (std::size_t at = 128; at < whole.size(); at += 41) {
        std::string damaged = whole;
        damaged[at] = char(damaged[at] ^ 0x83);
        read(damaged);
    }
}
