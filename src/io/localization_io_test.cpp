// Localizations through files of any format: what goes in comes out, and what is wrong is told.
// SPDX-License-Identifier: MIT
#include "glint/localization_io.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <limits>

#include "glint/error.hpp"
#include "io/hdf5/writing.hpp"
#include "tests/localization_table.hpp"
#include "tests/temporary_folder.hpp"

using namespace glint;
using namespace glint::test;

TEST(LocalizationIo, the_same_input_gives_the_same_bytes_however_it_is_cut) {
    TemporaryFolder folder;
    const Localizations in = full_table(1000);
    for (const char* end : {".hdf5", ".csv", ".smlm.h5"}) {
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

// Without it, rows of fits that failed could not be told from the others.
TEST(LocalizationIo, status_is_in_every_format_also_with_a_given_width) {
    TemporaryFolder folder;
    Localizations in;
    in.frame = {0, 1, 2}, in.x_px = in.y_px = {1, 2, 3}, in.sx_px = in.sy_px = {1.3f, 1.3f, 1.3f};
    in.lpx_px = in.lpy_px = {0.1f, 0.1f, 0.1f}, in.status = {0, 3, 1}, in.pixel_size_nm = 100;
    for (const char* name : {"a.hdf5", "a.csv", "a.smlm.h5"}) {
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

TEST(LocalizationIo, no_file_ever_holds_nan) {
    TemporaryFolder folder;
    Localizations in = full_table(6);
    in.x_px[1] = std::numeric_limits<float>::quiet_NaN();
    in.photons[2] = std::numeric_limits<float>::infinity();
    in.extra["molecule"][3] = std::nan("");
    Warnings warnings;
    write_localizations(folder / "a.hdf5", in, warnings.sink());
    EXPECT_TRUE(warnings.contain("1 of 6 rows have a position that is NaN"));
    EXPECT_TRUE(warnings.contain("2 values were NaN or infinite and are written as 0"));
    const Localizations out = read_localizations(folder / "a.hdf5");
    EXPECT_EQ(out.size(), 5u);
    EXPECT_EQ(out.photons[1], 0);
    EXPECT_EQ(out.extra.at("molecule")[2], 0);
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
    EXPECT_HAS(read(folder / "other.hdf5"), "neither /locs (Picasso) nor /emitters (SMLMAnalysis), but /data");
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

TEST(LocalizationIo, a_full_disk_is_told_and_leaves_the_older_file) {
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
