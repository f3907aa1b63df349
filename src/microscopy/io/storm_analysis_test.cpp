// HDF5 files of storm-analysis, with the groups and attributes that its writer creates.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>
#include <hdf5.h>

#include "glint/localization_io.hpp"
#include "glint/localization_reader.hpp"
#include "io/hdf5/file.hpp"
#include "io/hdf5/writing.hpp"
#include "tests/expect_error.hpp"
#include "tests/localization_table.hpp"
#include "tests/temporary_folder.hpp"

using namespace glint;
using namespace glint::test;
using hdf5::Handle;

namespace {

class StormFile {
  public:
    explicit StormFile(const std::filesystem::path& path)
        : path_(path), file_(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT)) {
        set(file_, "version", 0.1);
        const Handle type(H5Tcopy(H5T_C_S1)), space(H5Screate(H5S_SCALAR));
        H5Tset_size(type, 8);
        const Handle attribute(H5Acreate2(file_, "sa_type", type, space, H5P_DEFAULT, H5P_DEFAULT));
        H5Awrite(attribute, type, "unknown");
    }

    void set(const char* name, double value) const { set(file_, name, value); }
    hid_t file() const { return file_; }

    Handle group(const std::string& name, double dx = 0, double dy = 0, double dz = 0) const {
        Handle group(H5Gcreate2(file_, name.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
        set(group, "dx", dx), set(group, "dy", dy), set(group, "dz", dz);
        return group;
    }

    void write(hid_t group, const char* name, const std::vector<double>& values) const {
        const hsize_t shape[] = {values.size()};
        hdf5::write_values(group, name, H5T_NATIVE_DOUBLE, shape, values.data(), path_);
    }
    void write(hid_t group, const char* name, const std::vector<int>& values) const {
        const hsize_t shape[] = {values.size()};
        hdf5::write_values(group, name, H5T_NATIVE_INT, shape, values.data(), path_);
    }

  private:
    static void set(hid_t place, const char* name, double value) {
        const Handle space(H5Screate(H5S_SCALAR));
        const Handle attribute(H5Acreate2(place, name, H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT));
        H5Awrite(attribute, H5T_NATIVE_DOUBLE, &value);
    }

    std::filesystem::path path_;
    Handle file_;
};

}  // namespace

TEST(StormAnalysis, frames_are_groups_and_positions_count_from_the_first_pixels_centre) {
    TemporaryFolder folder;
    {
        const StormFile file(folder / "a.hdf5");
        file.set("pixel_size", 107.5), file.set("movie_x", 300), file.set("movie_y", 200), file.set("movie_l", 20);
        for (const auto& [name, x] : {std::pair("fr_10", 4.0), std::pair("fr_2", 1.5)}) {  // by number, not by name
            const Handle group = file.group(name);
            file.write(group, "x", std::vector{x, x + 1}), file.write(group, "y", std::vector{7.0, 8.0});
            file.write(group, "z", std::vector{-0.25, 0.1}), file.write(group, "xsigma", std::vector{1.0, 1.25});
            file.write(group, "ysigma", std::vector{2.0, 2.25}), file.write(group, "sum", std::vector{500.0, 600.0});
            file.write(group, "background", std::vector{10.0, 11.0}),
                file.write(group, "height", std::vector{50.0, 60.0});
            file.write(group, "iterations", std::vector{9, 8}), file.write(group, "status", std::vector{1, 1});
            file.write(group, "significance", std::vector{12.5, 13.5});
        }
        file.group("fr_3");
        const Handle empty = file.group("fr_4");
        file.write(empty, "x", std::vector<double>());
    }
    Warnings warnings;
    const Localizations out = read_localizations(folder / "a.hdf5", warnings.sink());
    EXPECT_EQ(out.frame, (std::vector<std::uint32_t>{2, 2, 10, 10}));
    EXPECT_EQ(out.x_px, (std::vector<float>{1.5f, 2.5f, 4, 5}));
    EXPECT_EQ(out.y_px, (std::vector<float>{7, 8, 7, 8}));
    EXPECT_EQ(out.z_nm, (std::vector<float>{-250, 100, -250, 100}));
    EXPECT_EQ(out.sx_px[1], 1.25f);
    EXPECT_EQ(out.sy_px[1], 2.25f);
    EXPECT_EQ(out.photons[3], 600);
    EXPECT_EQ(out.bg[0], 10);
    EXPECT_EQ(out.iterations[3], 8u);
    EXPECT_TRUE(out.status.empty()) << "storm-analysis numbers them otherwise";
    EXPECT_TRUE(out.extra.at("fit_status").is_integer);
    EXPECT_EQ(out.extra.at("significance").values[1], 13.5);
    EXPECT_EQ(out.pixel_size_nm, 107.5);
    EXPECT_EQ(out.width, 300);
    EXPECT_EQ(out.height, 200);
    EXPECT_EQ(out.frames, 20);
    EXPECT_TRUE(warnings.all.empty());

    PieceOptions pieces;
    pieces.piece_bytes = 1;
    LocalizationReader reader(folder / "a.hdf5", {}, pieces);
    std::vector<float> x;
    reader.for_each([&](const Localizations& piece) { x.insert(x.end(), piece.x_px.begin(), piece.x_px.end()); });
    EXPECT_EQ(x, out.x_px);
}

TEST(StormAnalysis, drift_channels_and_tracks_are_reported) {
    TemporaryFolder folder;
    {
        const StormFile file(folder / "a.hdf5");
        const Handle group = file.group("fr_0", 0.5, -0.25, 0.02);
        file.write(group, "x", std::vector{1.0}), file.write(group, "y", std::vector{2.0});
        file.write(group, "z", std::vector{0.1}), file.write(group, "xsigma", std::vector{1.5});
        file.write(group, "c1_x", std::vector{9.0});
        const Handle tracks = file.group("tracks");
        file.set("analysis_finished", 0);
    }
    Warnings warnings;
    const Localizations out = read_localizations(folder / "a.hdf5", warnings.sink(), 160);
    EXPECT_EQ(out.x_px[0], 1.5f);
    EXPECT_EQ(out.y_px[0], 1.75f);
    EXPECT_NEAR(out.z_nm[0], 120, 1e-4);
    EXPECT_EQ(out.sy_px, out.sx_px);
    EXPECT_EQ(out.pixel_size_nm, 160);
    EXPECT_FALSE(out.extra.contains("c1_x"));
    EXPECT_TRUE(warnings.contain("do not correct it again"));
    EXPECT_TRUE(warnings.contain("several channels"));
    EXPECT_TRUE(warnings.contain("not the tracks"));
    EXPECT_TRUE(warnings.contain("had not finished"));
    EXPECT_EQ(warnings.all.size(), 4u);
}

TEST(StormAnalysis, depths_of_2d_fits_are_left_out) {
    TemporaryFolder folder;
    {
        const StormFile file(folder / "a.hdf5");
        for (const char* name : {"fr_0", "fr_1"}) {
            const Handle group = file.group(name);
            for (const char* column : {"x", "y", "z"}) file.write(group, column, std::vector{0.0, 0.0});
        }
    }
    EXPECT_TRUE(read_localizations(folder / "a.hdf5").z_nm.empty());
}

TEST(StormAnalysis, damaged_files_are_refused) {
    TemporaryFolder folder;
    const auto read = [&](const auto& fill) {
        { fill(StormFile(folder / "a.hdf5")); }
        return message_of<InputError>([&] { read_localizations(folder / "a.hdf5"); });
    };
    const auto three = [](const StormFile& file, const char* name, std::size_t ys) {
        const Handle group = file.group(name);
        file.write(group, "x", std::vector<double>(3)), file.write(group, "y", std::vector<double>(ys));
    };
    EXPECT_HAS(read([](const StormFile&) {}), "a.hdf5: is a file of storm-analysis without localizations");
    EXPECT_HAS(read([](const StormFile& file) { file.group("tracks"); }), "it has tracks alone");
    EXPECT_HAS(read([&](const StormFile& file) { three(file, "fr_0", 2); }),
               "/fr_0/y has not as many values as /fr_0/x, 3");
    EXPECT_HAS(read([&](const StormFile& file) {
                   three(file, "fr_0", 3);
                   const Handle group = file.group("fr_1");
                   file.write(group, "x", std::vector<double>(3));
               }),
               "/fr_1 has no y, which other frames have");
    EXPECT_HAS(read([&](const StormFile& file) { file.write(file.file(), "fr_0", std::vector<double>(3)); }),
               "/fr_0 is not a group");
    EXPECT_HAS(read([&](const StormFile& file) {
                   H5Lcreate_external("/etc/passwd", "/", file.file(), "fr_0", H5P_DEFAULT, H5P_DEFAULT);
               }),
               "fr_0");
}
