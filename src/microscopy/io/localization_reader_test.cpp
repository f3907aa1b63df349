// Tables read in pieces equal tables read as a whole.
// SPDX-License-Identifier: MIT
#include "glint/localization_reader.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <string>
#include <utility>

#include "glint/error.hpp"
#include "glint/filter.hpp"
#include "glint/localization_io.hpp"
#include "io/hdf5/file.hpp"
#include "tests/cut_table.hpp"
#include "tests/localization_table.hpp"
#include "tests/temporary_folder.hpp"

using namespace glint;
using namespace glint::test;

namespace {

const PieceOptions small_pieces{
    .pixel_size_nm = 107.5, .piece_bytes = 5000, .stop = nullptr};  // about 40 rows of 120 bytes

/// Reads in pieces and whole, expects the same table and the same warnings, and returns it.
Localizations read_both_ways(const std::filesystem::path& path) {
    Warnings whole_says, pieces_say;
    const Localizations whole = read_localizations(path, whole_says.sink(), 107.5);
    LocalizationReader reader(path, pieces_say.sink(), small_pieces);
    std::size_t pieces = 0;
    reader.for_each([&](const Localizations&) { ++pieces; });
    EXPECT_GT(pieces, whole.size() / 200);
    expect_same(joined(reader), whole);
    EXPECT_EQ(reader.rows(), whole.size());
    EXPECT_EQ(std::set(pieces_say.all.begin(), pieces_say.all.end()),
              std::set(whole_says.all.begin(), whole_says.all.end()));
    EXPECT_EQ(pieces_say.all.size(), whole_says.all.size());
    return whole;
}

/// Writes lines of frame, x, y, photons and another column: `line(k)` for each row except the first 200, which are
/// plain.
std::filesystem::path write_csv(const TemporaryFolder& folder, const std::function<std::string(int)>& line,
                                const char* header = "frame,x [nm],y [nm],intensity [photon],other\n") {
    std::string text = header;
    for (int k = 0; k < 1000; ++k) text += k < 200 ? "7,107.5,215,,3\n" : line(k);
    return folder.write("a.csv", text);
}

}  // namespace

TEST(LocalizationReader, pieces_are_the_whole_table_in_every_format) {
    TemporaryFolder folder;
    for (const char* name : {"a.hdf5", "a.csv", "a.smlm.h5"}) {
        write_localizations(folder / name, full_table(1000));
        EXPECT_EQ(read_both_ways(folder / name).size(), 1000u) << name;
    }
}

TEST(LocalizationReader, the_size_of_a_movie_is_taken_from_all_rows) {
    TemporaryFolder folder;
    Localizations table = full_table(1000);
    table.width = table.height = 0, table.frames = 0;
    table.x_px[999] = 500, table.y_px[500] = 300;
    write_localizations(folder / "a.hdf5", table);
    std::filesystem::remove(folder / "a.yaml");
    const Localizations read = read_both_ways(folder / "a.hdf5");
    EXPECT_EQ(read.width, 501);
    EXPECT_EQ(read.height, 301);
    EXPECT_EQ(read.frames, 334);
}

TEST(LocalizationReader, what_only_later_rows_of_a_text_tell_holds_for_all) {
    TemporaryFolder folder;
    // Photons are known only later, so the first rows lack them. The other column is complete.
    const Localizations holes = read_both_ways(write_csv(folder, [](int) { return "8,300,215,500,4\n"; }));
    EXPECT_EQ(holes.size(), 800u);
    EXPECT_EQ(holes.frame.front(), 7u);
    EXPECT_TRUE(holes.extra.at("other").is_integer);
    const Localizations zero =
        read_both_ways(write_csv(folder, [](int k) { return k == 999 ? "0,300,215,,4\n" : "8,300,215,,4.5\n"; }));
    EXPECT_EQ(zero.size(), 1000u);
    EXPECT_EQ(zero.frame.front(), 7u) << "a frame 0 comes last, so that frames count from 0";
    EXPECT_FALSE(zero.extra.at("other").is_integer);
    EXPECT_TRUE(zero.photons.empty());
    const Localizations words = read_both_ways(write_csv(folder, [](int k) {
        return k == 900 ? "8,300,215,500,word\n" : k == 999 ? "8,300,2" : "8,9000,215,,4\n";
    }));
    EXPECT_EQ(words.size(), 1u) << "the others have no photons";
    EXPECT_FALSE(words.extra.contains("other"));
    EXPECT_EQ(words.width, 3) << "as far as the only row lies";
}

TEST(LocalizationReader, errors_in_late_rows_name_the_row) {
    TemporaryFolder folder;
    const auto path = write_csv(folder, [](int k) { return k == 900 ? "8,300,x,500,4\n" : "8,300,215,500,4\n"; });
    const auto read = [&] { LocalizationReader reader(path, {}, small_pieces); };
    EXPECT_HAS(message_of<InputError>(read), "line 902: \"x\" in column y [nm] is no number");
    write_csv(folder, [](int k) { return k == 900 ? "-8,300,215,500,4\n" : "8,300,215,500,4\n"; });
    EXPECT_HAS(message_of<InputError>(read), "row 901 has the frame number -8");
}

TEST(LocalizationReader, lines_beyond_the_first_megabytes_are_read_as_those_before) {
    TemporaryFolder folder;
    constexpr int rows = 300'000;  // 6 MB, several blocks
    std::string text = "frame,x [nm],y [nm],whole,mixed,late\n";
    for (int k = 0; k < rows; ++k)
        text += fmt::format("{},{},250,{},{},{}\n{}", k / 10 + 1, k % 5000, k, k == 299'000 ? "1.5" : "1",
                            k == 290'000 ? "word" : "2", k % 1000 == 0 ? "\n" : "");
    Warnings warnings;
    const Localizations table = read_localizations(folder.write("a.csv", text), warnings.sink(), 100);
    ASSERT_EQ(table.size(), std::size_t(rows));
    for (int k = 0; k < rows; ++k) {
        ASSERT_EQ(table.frame[std::size_t(k)], std::uint32_t(k / 10));
        ASSERT_EQ(table.x_px[std::size_t(k)], float(k % 5000 / 100.0 - 0.5)) << k;
        ASSERT_EQ(table.extra.at("whole").values[std::size_t(k)], k);
    }
    EXPECT_TRUE(table.extra.at("whole").is_integer);
    EXPECT_FALSE(table.extra.at("mixed").is_integer);
    EXPECT_FALSE(table.extra.contains("late"));
    // The line number includes the header, the rows and a blank line per thousand rows.
    EXPECT_TRUE(warnings.contain("column late is left out: \"word\" in line 290292 is no number"));
}

TEST(LocalizationReader, the_first_of_several_errors_is_reported) {
    TemporaryFolder folder;
    std::string text = "frame,x [nm],y [nm]\n";
    for (int k = 0; k < 20'000; ++k) text += k == 15'000 ? "1,2\n" : k == 9'000 ? "1,2,x\n" : "1,2,3\n";
    const auto path = folder.write("a.csv", text);
    EXPECT_HAS(message_of<InputError>([&] { read_localizations(path, {}, 100); }),
               "line 9002: \"x\" in column y [nm] is no number");
}

TEST(LocalizationReader, pieces_are_written_as_the_whole_table_is) {
    TemporaryFolder folder;
    Localizations table = full_table(1000);
    table.extra["wide"] = {std::vector<double>(1000, 7), true};
    for (const bool differ : {false, true}) {
        table.sx_px.assign(1000, 1.5f), table.sy_px = table.sx_px, table.sx_unc_px.clear(), table.sy_unc_px.clear();
        if (differ) table.sy_px[990] = 1.25f, table.extra["wide"].values[999] = 5e9, table.frame[998] = 3'000'000'000;
        for (const char* end : {".hdf5", ".csv", ".smlm.h5"}) {
            const auto whole = folder / (std::string("whole") + end), pieces = folder / (std::string("pieces") + end);
            write_localizations(whole, table);
            CutTable cut(table, 173);
            write_localizations(pieces, cut);
            EXPECT_EQ(read_bytes(whole), read_bytes(pieces)) << end << differ;
        }
    }
    const Localizations none = select(table, {});
    WholeTable empty(none);
    write_localizations(folder / "none.hdf5", empty);
    EXPECT_EQ(read_localizations(folder / "none.hdf5").size(), 0u);
}

TEST(LocalizationReader, a_stop_between_pieces_leaves_no_file) {
    TemporaryFolder folder;
    write_localizations(folder / "a.hdf5", full_table(1000));
    StopFlag stop = false;
    PieceOptions options = small_pieces;
    options.stop = &stop;
    LocalizationReader reader(folder / "a.hdf5", {}, options);
    int pieces = 0;
    ChangedTable stopping(reader, [&](const Localizations& piece, std::size_t) {
        stop = ++pieces == 40;  // 1 + 25 + 25 pieces: the 40th is in the second pass, which writes
        return piece;
    });
    EXPECT_THROW(write_localizations(folder / "b.hdf5", stopping), Cancelled);
    EXPECT_EQ(folder.names(), (std::vector<std::string>{"a.hdf5", "a.yaml"}));
}

TEST(LocalizationReader, a_file_that_changes_meanwhile_is_an_error) {
    namespace fs = std::filesystem;
    const Localizations before = full_table(1000);
    Localizations after = before;
    for (float& value : after.photons) value *= 2;
    for (const char* name : {"a.hdf5", "a.csv", "a.smlm.h5"}) {
        TemporaryFolder folder;
        const fs::path path = folder / name;
        const auto overwritten = [&](const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; };
        write_localizations(folder / (std::string("other_") + name), after);
        const std::string other = read_bytes(folder / (std::string("other_") + name));
        const std::pair<const char*, std::function<void()>> changes[] = {
            {"overwritten",
             [&] {
                 overwritten(other);
                 // whatever the resolution of the file system's clock
                 fs::last_write_time(path, fs::last_write_time(path) + std::chrono::seconds(2));
             }},
            {"longer", [&] { overwritten(read_bytes(path) + "8,300,215,500,4\n"); }},
            {"cut off", [&] { fs::resize_file(path, fs::file_size(path) / 2); }},
            {"replaced", [&] { fs::rename(folder / (std::string("other_") + name), path); }},
            {"removed", [&] { fs::remove(path); }},
        };
        for (const auto& [what, change] : changes) {
            write_localizations(path, before);
            LocalizationReader reader(path, {}, small_pieces);
            int begun = 0;
            ChangedTable changing(reader, [&](const Localizations& piece, std::size_t rows_before) {
                if (rows_before == 0 && ++begun == 3) change();  // the first is like(), the third the pass that writes
                return piece;
            });
            const fs::path out = folder / "out.hdf5";
            EXPECT_HAS(message_of<InputError>([&] { write_localizations(out, changing); }), "changed while it was read")
                << name << what;
            EXPECT_FALSE(fs::exists(out)) << name << what;
        }
    }
}

TEST(LocalizationReader, a_table_without_rows_keeps_its_columns) {
    TemporaryFolder folder;
    Localizations full = full_table(1000);
    full.extra["wide"] = {std::vector<double>(1000, 5e9), true};
    const std::vector<std::string> conditions = {"photons < 0"};
    const auto columns_of = [](const Localizations& one) {
        std::set<std::string> names;
        for (const LocalizationColumn& column : localization_columns())
            if (!(one.*column.values).empty()) names.insert(std::string(column.name));
        for (const auto& [name, column] : one.extra) names.insert(name + (column.is_integer ? " of integers" : ""));
        if (!one.iterations.empty()) names.insert("iterations");
        if (!one.status.empty()) names.insert("status");
        return names;
    };
    for (const char* end : {".hdf5", ".csv", ".smlm.h5"}) {
        const auto before = folder / (std::string("a") + end), none = folder / (std::string("b") + end),
                   again = folder / (std::string("c") + end);
        write_localizations(before, full);
        LocalizationReader reader(before, {}, small_pieces);
        FilteredTable filtered(reader, conditions);
        ASSERT_EQ(filtered.rows(), 0u);
        write_localizations(none, filtered);
        LocalizationReader empty(none, {}, small_pieces);
        EXPECT_EQ(empty.like().size(), 0u) << end;
        if (end == std::string(".csv"))
            ASSERT_FALSE(empty.example().extra.empty());  // no cell shows that its column has integers
        else
            EXPECT_EQ(columns_of(empty.example()), columns_of(reader.like())) << end;
        write_localizations(again, empty);
        LocalizationReader copied(again, {}, small_pieces);
        EXPECT_EQ(columns_of(copied.example()), columns_of(empty.example())) << end;
    }
    const hdf5::Handle file(H5Fopen((folder / "b.hdf5").c_str(), H5F_ACC_RDONLY, H5P_DEFAULT));
    const hdf5::Handle locs(H5Dopen2(file, "locs", H5P_DEFAULT)), row(H5Dget_type(locs));
    const auto type_of = [&](const char* name) {
        const hdf5::Handle type(H5Tget_member_type(row, unsigned(H5Tget_member_index(row, name))));
        return H5Tget_size(type);
    };
    EXPECT_EQ(type_of("wide"), 8u);
    EXPECT_EQ(type_of("track"), 4u);
}

TEST(LocalizationReader, some_columns_of_all_rows) {
    TemporaryFolder folder;
    const Localizations table = full_table(1000);
    write_localizations(folder / "a.hdf5", table);
    LocalizationReader reader(folder / "a.hdf5", {}, small_pieces);
    const std::string_view names[] = {"x", "lpz", "molecule"};
    const Localizations some = with_columns(reader, names);
    EXPECT_EQ(some.x_px, table.x_px);
    EXPECT_EQ(some.lpz_nm, table.lpz_nm);
    EXPECT_EQ(some.frame, table.frame);
    ASSERT_EQ(some.extra.size(), 1u);
    EXPECT_EQ(some.extra.at("molecule").values, table.extra.at("molecule").values);
    EXPECT_EQ(some.extra.at("molecule").is_integer, table.extra.at("molecule").is_integer);
    EXPECT_TRUE(some.y_px.empty() && some.status.empty());
    EXPECT_EQ(some.pixel_size_nm, table.pixel_size_nm);
}
