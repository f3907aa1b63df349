// Localizations through files of any format: written tables can be read again, and errors are reported.
// SPDX-License-Identifier: MIT
#include "glint/localization_io.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <limits>
#include <map>

#include "glint/error.hpp"
#include "glint/merge.hpp"
#include "io/hdf5/writing.hpp"
#include "tests/localization_table.hpp"
#include "tests/temporary_folder.hpp"

using namespace glint;
using namespace glint::test;

TEST(LocalizationIo, the_same_input_gives_the_same_bytes_however_it_is_cut) {
    TemporaryFolder folder;
    const Localizations in = full_table(1000);
    for (const char* end : {".hdf5", ".csv", ".smlm.h5", ".all.csv", ".smap.csv", "_sml.mat", ".smlm"}) {
        const auto whole = folder / (std::string("whole") + end), pieces = folder / (std::string("pieces") + end);
        write_localizations(whole, in);
        LocalizationWriter writer(pieces, in, in.size());
        for (std::size_t first = 0; first < in.size(); first += 173) {
            std::vector<std::size_t> rows;
            for (std::size_t k = first; k < std::min(first + 173, in.size()); ++k) rows.push_back(k);
            writer.append(select(in, rows));
        }
        writer.close();
        EXPECT_EQ(read_bytes(whole), read_bytes(pieces)) << end;
    }
    EXPECT_EQ(read_bytes(folder / "whole.yaml"), read_bytes(folder / "pieces.yaml"));
}

// The warning names exactly the columns that are not restored.
TEST(LocalizationIo, columns_that_a_format_has_no_place_for_are_reported) {
    TemporaryFolder folder;
    const Localizations in = full_table(50);
    for (const std::string name : {"a.hdf5", "a.csv", "a.smlm.h5", "a.all.csv", "a.smap.csv", "a_sml.mat", "a.smlm"}) {
        Warnings warnings;
        write_localizations(folder / name, in, warnings.sink());
        const std::string begin = name + ": this format has no place for the columns ";
        EXPECT_EQ(warnings.contain(begin), name == "a.csv" || name == "a.smlm.h5");
        EXPECT_EQ(
            warnings.contain("a name that ends in .all.csv (CSV with every column) or .hdf5 (Picasso) keeps them"),
            name == "a.csv" || name == "a.smlm.h5")
            << name;
        std::string told;
        for (const std::string& warning : warnings.all)
            if (const auto at = warning.find(begin); at != warning.npos)
                told = ", " +
                       warning.substr(at + begin.size(),
                                      warning.find_first_of("(:", at + begin.size()) - at - begin.size()) +
                       ",";
        const auto is_told = [&](std::string_view column) {
            const std::size_t at = told.find(fmt::format(", {}", column));
            return at != told.npos && std::string(", ").find(told[at + 2 + column.size()]) != std::string::npos;
        };
        const Localizations out = read_localizations(folder / name, {}, in.pixel_size_nm);
        for (const LocalizationColumn& column : localization_columns()) {
            const std::vector<float>&before = in.*column.values, &after = out.*column.values;
            bool comes_back = after.size() == before.size();
            for (std::size_t k = 0; comes_back && k < before.size(); ++k)
                comes_back = std::abs(after[k] - before[k]) <= 1e-4f * std::max(1.0f, std::abs(before[k]));
            if (name == "a.csv" && column.name == "log_likelihood") comes_back = out.extra.contains("chi2");
            EXPECT_EQ(is_told(column.name), !comes_back) << name << " " << column.name << told;
        }
        EXPECT_EQ(is_told("iterations"), out.iterations != in.iterations) << name;
    }
    Localizations plain;
    plain.frame = {0, 1}, plain.x_px = plain.y_px = {1, 2}, plain.lpx_px = plain.lpy_px = {0.1f, 0.2f},
    plain.pixel_size_nm = 100;
    Warnings none;
    write_localizations(folder / "plain.csv", plain, none.sink());
    EXPECT_TRUE(none.all.empty()) << "the mean of lpx and lpy is both";
}

// Columns that a reader would take for other columns are left out, so that no frame and no other column changes.
TEST(LocalizationIo, columns_whose_names_mean_another_in_a_format_are_reported) {
    TemporaryFolder folder;
    Localizations in;
    in.frame = {0, 1, 2}, in.x_px = in.y_px = {1, 2, 3}, in.sx_px = in.sy_px = {1.3f, 1.3f, 1.3f};
    in.photons = in.bg = {5, 6, 7}, in.pixel_size_nm = 100;
    for (const char* name : {"id", "x_nm", "sigma", "intensity", "sigma_x", "frame_ix", "mine"})
        in.extra[name].values = {7, 8, 9};
    for (const std::string name : {"a.hdf5", "a.csv", "a.smlm.h5", "a.all.csv", "a.smap.csv", "a_sml.mat", "a.smlm"}) {
        Warnings warnings;
        write_localizations(folder / name, in, warnings.sink());
        const Localizations out = read_localizations(folder / name, {}, 100);
        EXPECT_EQ(out.frame, in.frame) << name;
        EXPECT_EQ(out.photons, in.photons) << name;
        const std::string told = warnings.all.empty() ? "" : warnings.all.front() + ",";
        for (const auto& [column, values] : in.extra) {
            const bool comes_back = out.extra.contains(column) && out.extra.at(column).values == values.values;
            const bool is_told =
                told.find(" " + column + ",") != told.npos || told.find(" " + column + ":") != told.npos;
            EXPECT_EQ(is_told, !comes_back) << name << " " << column << ": " << told;
        }
        EXPECT_EQ(told.find(" sx, sy") != told.npos, out.sx_px.empty()) << name << ": " << told;
    }
}

// Without `status`, rows of failed fits could not be distinguished.
TEST(LocalizationIo, status_is_in_every_format_also_with_a_given_width) {
    TemporaryFolder folder;
    Localizations in;
    in.frame = {0, 1, 2}, in.x_px = in.y_px = {1, 2, 3}, in.sx_px = in.sy_px = {1.3f, 1.3f, 1.3f};
    in.lpx_px = in.lpy_px = {0.1f, 0.1f, 0.1f}, in.status = {0, 3, 1}, in.pixel_size_nm = 100;
    for (const char* name : {"a.hdf5", "a.csv", "a.smlm.h5", "a.all.csv", "a.smap.csv", "a_sml.mat", "a.smlm"}) {
        write_localizations(folder / name, in);
        EXPECT_EQ(read_localizations(folder / name, {}, 100).status, in.status) << name;
    }
}

TEST(LocalizationIo, smlm_reads_back_what_it_holds) {
    TemporaryFolder folder;
    const Localizations in = full_table(500);
    write_localizations(folder / "a.smlm.h5", in);
    const Localizations out = read_localizations(folder / "a.smlm.h5");
    EXPECT_EQ(out.frame, in.frame);
    for (auto column :
         {&Localizations::x_px, &Localizations::y_px, &Localizations::z_nm, &Localizations::photons, &Localizations::bg,
          &Localizations::lpx_px, &Localizations::lpy_px, &Localizations::lpz_nm, &Localizations::photons_unc,
          &Localizations::bg_unc, &Localizations::p_value, &Localizations::sx_px, &Localizations::sy_px,
          &Localizations::sx_unc_px, &Localizations::sy_unc_px})
        expect_near(out.*column, in.*column, "a column");
    EXPECT_EQ(out.width, 64);
    EXPECT_EQ(out.height, 48);
    EXPECT_EQ(out.frames, 500);
    EXPECT_NEAR(out.pixel_size_nm, 107.5, 1e-9);
}

TEST(LocalizationIo, frames_beyond_31_bits_stay_what_they_are) {
    TemporaryFolder folder;
    Localizations in = full_table(3);
    in.frame = {1, 2147483647u, 4294967294u};
    in.frames = 4294967295;
    for (const char* name : {"a.hdf5", "a.csv", "a.smlm.h5"}) {
        write_localizations(folder / name, in);
        EXPECT_EQ(read_localizations(folder / name, {}, 107.5).frame, in.frame) << name;
    }
}

TEST(LocalizationIo, integers_stay_integers_in_every_format) {
    TemporaryFolder folder;
    Localizations in = full_table(40);
    in.extra["wide"] = {std::vector<double>(40, 3e9), true};
    in.extra["widest"] = {std::vector<double>(40, -9007199254740991.0), true};
    in.extra["dataset"].is_integer = in.extra["track_id"].is_integer = true;  // columns of SMLMAnalysis
    for (int k = 0; k < 40; ++k) {
        in.extra["dataset"].values.push_back(1 + k % 3);
        in.extra["track_id"].values.push_back(k / 2);
    }
    for (const char* name : {"a.hdf5", "a.csv", "a.smlm.h5"}) {
        write_localizations(folder / name, in);
        auto out = read_localizations(folder / name, {}, 107.5).extra;
        out.erase("chi2"), out.erase("bkgstd");  // columns of ThunderSTORM
        EXPECT_EQ(out, in.extra) << name;
        LocalizationWriter pieces(folder / name, in, 80);  // does not know how many other pieces follow
        pieces.append(in);
        in.extra["track"].values[7] = 5e9;
        pieces.append(in);
        pieces.close();
        EXPECT_EQ(read_localizations(folder / name, {}, 107.5).extra.at("track").values[47], 5e9) << name;
        in.extra["track"].values[7] = 6;
    }
}

TEST(LocalizationIo, whole_numbers_in_a_text_are_integers_unless_one_is_not) {
    TemporaryFolder folder;
    const auto path = folder.write("a.csv",
                                   "frame,x [nm],y [nm],chi2,group,sign,mixed,hole,exponent\n"
                                   "1,50,50,3,7,-1,1,2,1e3\n2,50,50,4,8,+1,1.0,,10\n");
    const Localizations table = read_localizations(path, {}, 100);
    for (const auto& [name, is_integer] : std::map<std::string, bool>{
             {"chi2", false}, {"group", true}, {"sign", true}, {"mixed", false}, {"hole", false}, {"exponent", false}})
        EXPECT_EQ(table.extra.at(name).is_integer, is_integer) << name;
}

TEST(LocalizationIo, integers_that_doubles_do_not_hold_are_reported) {
    TemporaryFolder folder;
    Warnings warnings;
    const auto path = folder.write("a.csv", "frame,x [nm],y [nm],key\n1,50,50,9007199254740993\n");
    read_localizations(path, warnings.sink(), 100);
    EXPECT_TRUE(warnings.contain("column key has whole numbers of 9007199254740992"));
}

TEST(LocalizationIo, a_column_of_integers_stays_one_where_both_tables_have_integers) {
    Localizations a = full_table(3), b = full_table(2), all;
    append(all, a);
    append(all, b);
    EXPECT_TRUE(all.extra.at("track").is_integer);
    EXPECT_FALSE(all.extra.at("molecule").is_integer);
    const std::size_t rows[] = {4, 0};
    const ExtraColumn wanted{{0, -1}, true};
    EXPECT_EQ(select(all, rows).extra.at("track"), wanted);
    const Localizations both[] = {a, b};
    EXPECT_EQ(merge(both).extra.at("track").is_integer, true);
    b.extra["track"].is_integer = false;
    append(all, b);
    EXPECT_FALSE(all.extra.at("track").is_integer);
}

TEST(LocalizationIo, an_empty_table_is_a_valid_file) {
    TemporaryFolder folder;
    Localizations none;
    none.width = 32, none.height = 16, none.frames = 10, none.pixel_size_nm = 100;
    for (const char* name : {"a.hdf5", "a.csv", "a.smlm.h5"}) {
        write_localizations(folder / name, none);
        const Localizations out = read_localizations(folder / name, {}, 100);
        EXPECT_EQ(out.size(), 0u) << name;
    }
    EXPECT_EQ(read_localizations(folder / "a.hdf5").width, 32);
}

TEST(LocalizationIo, no_file_holds_nan_in_a_known_column) {
    TemporaryFolder folder;
    Localizations in = full_table(6);
    in.x_px[1] = std::numeric_limits<float>::quiet_NaN();
    in.photons[2] = std::numeric_limits<float>::infinity();
    for (const char* name : {"a.hdf5", "a.csv"}) {
        Warnings warnings;
        write_localizations(folder / name, in, warnings.sink());
        EXPECT_TRUE(warnings.contain("1 of 6 rows have a position that is NaN"));
        EXPECT_TRUE(warnings.contain("1 values were NaN or infinite and are written as 0"));
        const Localizations out = read_localizations(folder / name, {}, in.pixel_size_nm);
        EXPECT_EQ(out.size(), 5u);
        EXPECT_EQ(out.photons[1], 0);
    }
}

TEST(LocalizationIo, other_columns_keep_nan_and_infinity) {
    TemporaryFolder folder;
    constexpr double infinity = std::numeric_limits<double>::infinity();
    Localizations in = full_table(6);
    for (const char* name : {"molecule", "net_gradient", "group", "chi2"})
        in.extra[name].values = {std::nan(""), 1.5, infinity, -infinity, std::nan(""), 2};
    in.extra["track"].values = {std::nan(""), 1, infinity, -infinity, std::nan(""), 2};  // declared as integers
    for (const char* name : {"a.hdf5", "a.csv", "a.smlm.h5"}) {
        Warnings warnings;
        write_localizations(folder / name, in, warnings.sink());
        EXPECT_EQ(warnings.contain("4 rows hold NaN or infinity in columns"), name == std::string("a.hdf5"));
        EXPECT_FALSE(warnings.contain("written as 0"));
        const Localizations out = read_localizations(folder / name, {}, in.pixel_size_nm);
        ASSERT_EQ(out.size(), 6u);
        for (const char* column : {"molecule", "net_gradient", "track", "group", "chi2"})
            for (std::size_t row = 0; row < 6; ++row) {
                const double was = in.extra[column].values[row], is = out.extra.at(column).values[row];
                EXPECT_TRUE(was == is || (std::isnan(was) && std::isnan(is))) << name << ' ' << column << ' ' << row;
            }
    }
}

TEST(LocalizationIo, files_that_are_none) {
    TemporaryFolder folder;
    const auto read = [&](const std::filesystem::path& path) {
        return message_of<InputError>([&] { read_localizations(path); });
    };
    EXPECT_HAS(read(folder / "missing.hdf5"), "does not exist");
    EXPECT_HAS(read(folder.write("empty.hdf5", "")), "is empty");
    EXPECT_HAS(read(folder.path()), "is not a file");

    write_localizations(folder / "a.hdf5", full_table(1000));
    const std::string bytes = read_bytes(folder / "a.hdf5");
    EXPECT_HAS(read(folder.write("cut.hdf5", bytes.substr(0, bytes.size() / 2))), "truncated");
    EXPECT_HAS(message_of<OptionError>([&] { write_localizations(folder / "a.txt", full_table(1)); }),
               "end it in .hdf5");

    const auto make = [&](const char* name, const char* dataset, hid_t type, std::vector<hsize_t> shape) {
        const hdf5::Handle file(H5Fcreate((folder / name).c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
        const std::vector<char> zeros(1000);
        hdf5::write_values(file, dataset, type, shape, zeros.data(), name);
    };
    make("image.hdf5", "locs", H5T_NATIVE_FLOAT, {5, 5});
    EXPECT_HAS(read(folder / "image.hdf5"), "/locs is not a table");
    make("other.hdf5", "data", H5T_NATIVE_FLOAT, {5});
    EXPECT_HAS(read(folder / "other.hdf5"),
               "none of the tables of Picasso (/locs), SMLMAnalysis (/emitters), SMAP (/saveloc), DECODE (/data/xyz), "
               "storm-analysis (/fr_0) and PYME (/FitResults), but /data");
}

TEST(LocalizationIo, nothing_is_left_of_what_was_not_closed) {
    TemporaryFolder folder;
    const Localizations in = full_table(10);
    for (const char* name : {"a.hdf5", "a.csv", "a.smlm.h5"}) {
        LocalizationWriter writer(folder / name, in, 20);
        writer.append(in);
        EXPECT_THROW(writer.close(), OptionError);  // 10 of 20 rows
    }
    EXPECT_TRUE(folder.names().empty());
    EXPECT_HAS(message_of<OutputError>([&] { write_localizations(folder / "no/a.hdf5", in); }), "mkdir -p");
}

TEST(LocalizationIo, a_full_disk_is_reported_and_leaves_the_older_file) {
    TemporaryFolder folder;
    write_localizations(folder / "a.hdf5", full_table(10));
    const std::string before = read_bytes(folder / "a.hdf5");
    const Localizations large = full_table(100'000);
    std::signal(SIGXFSZ, SIG_IGN);
    rlimit unlimited;
    getrlimit(RLIMIT_FSIZE, &unlimited);
    for (const char* name : {"a.hdf5", "b.csv", "c.smlm.h5"}) {
        const rlimit tight{100'000, unlimited.rlim_max};
        setrlimit(RLIMIT_FSIZE, &tight);
        const std::string message = message_of<OutputError>([&] { write_localizations(folder / name, large); });
        setrlimit(RLIMIT_FSIZE, &unlimited);
        EXPECT_HAS(message, std::string(name) + ": the file would exceed the size limit");
    }
    EXPECT_EQ(read_bytes(folder / "a.hdf5"), before);
    EXPECT_EQ(folder.names(), (std::vector<std::string>{"a.hdf5", "a.yaml"}));
}

TEST(LocalizationIo, pieces_must_agree) {
    TemporaryFolder folder;
    const Localizations in = full_table(4);
    LocalizationWriter writer(folder / "a.hdf5", in, 8);
    Localizations other = in;
    other.bg.clear();
    EXPECT_THROW(writer.append(other), OptionError);
    other = in;
    other.bg.pop_back();
    EXPECT_THROW(writer.append(other), OptionError);
    writer.append(in);
    writer.append(in);
    EXPECT_THROW(writer.append(in), OptionError);
    EXPECT_THROW(LocalizationWriter(folder / "b.hdf5", Localizations{}, 3), OptionError);
}
