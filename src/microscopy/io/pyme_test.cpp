// Tables of PYME: records in rows as PyTables stores them, exported tables, and other files.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>

#include "glint/error.hpp"
#include "glint/localization_io.hpp"
#include "io/hdf5/file.hpp"
#include "tests/localization_table.hpp"
#include "tests/temporary_folder.hpp"

using namespace glint;
using namespace glint::test;

namespace {

struct Fit {
    float A, x0, y0, sigma;
};
struct PymeRow {
    std::int32_t tIndex;
    Fit fitResults, fitError;
    std::int32_t resultCode;
    std::int32_t slices[3];
};

hdf5::Handle type_of_fit() {
    hdf5::Handle type(H5Tcreate(H5T_COMPOUND, sizeof(Fit)));
    H5Tinsert(type, "A", offsetof(Fit, A), H5T_NATIVE_FLOAT);
    H5Tinsert(type, "x0", offsetof(Fit, x0), H5T_NATIVE_FLOAT);
    H5Tinsert(type, "y0", offsetof(Fit, y0), H5T_NATIVE_FLOAT);
    H5Tinsert(type, "sigma", offsetof(Fit, sigma), H5T_NATIVE_FLOAT);
    return type;
}

const std::vector<PymeRow> two = {{0, {500, 1000, 2000, 130}, {5, 10, 20, 3}, 1, {0, 9, 1}},
                                  {7, {600, 1150, 250, 140}, {6, 12, 25, 4}, 2, {0, 9, 1}}};

void write_dataset(hid_t file, const char* name, hid_t type, const void* rows, hsize_t count) {
    const hdf5::Handle space(H5Screate_simple(1, &count, nullptr)), properties(H5Pcreate(H5P_DATASET_CREATE));
    H5Pset_chunk(properties, 1, &count);
    H5Pset_shuffle(properties), H5Pset_deflate(properties, 5);
    const hdf5::Handle dataset(H5Dcreate2(file, name, type, space, H5P_DEFAULT, properties, H5P_DEFAULT));
    ASSERT_GE(H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, rows), 0);
}

void write_voxel(hid_t file, double x_um, double y_um) {
    const hdf5::Handle all(H5Gcreate2(file, "MetaData", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT)),
        size(H5Gcreate2(all, "voxelsize", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT)), space(H5Screate(H5S_SCALAR));
    for (const auto& [name, um] : {std::pair("x", x_um), std::pair("y", y_um)}) {
        const hdf5::Handle attribute(H5Acreate2(size, name, H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT));
        H5Awrite(attribute, H5T_NATIVE_DOUBLE, &um);
    }
}

/// Writes fits as PYME does. `voxel_um` 0: without metadata.
std::filesystem::path write_h5r(const std::filesystem::path& path, double voxel_um = 0.1) {
    const hdf5::Handle file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
    const hdf5::Handle fit = type_of_fit(), row(H5Tcreate(H5T_COMPOUND, sizeof(PymeRow)));
    const hsize_t three = 3;
    const hdf5::Handle slices(H5Tarray_create2(H5T_NATIVE_INT32, 1, &three));
    H5Tinsert(row, "tIndex", offsetof(PymeRow, tIndex), H5T_NATIVE_INT32);
    H5Tinsert(row, "fitResults", offsetof(PymeRow, fitResults), fit);
    H5Tinsert(row, "fitError", offsetof(PymeRow, fitError), fit);
    H5Tinsert(row, "resultCode", offsetof(PymeRow, resultCode), H5T_NATIVE_INT32);
    H5Tinsert(row, "slicesUsed", offsetof(PymeRow, slices), slices);
    write_dataset(file, "FitResults", row, two.data(), two.size());
    if (voxel_um > 0) write_voxel(file, voxel_um, voxel_um);
    return path;
}

}  // namespace

TEST(Pyme, records_in_rows_are_read_in_nm_from_the_first_pixels_centre) {
    TemporaryFolder folder;
    Warnings told;
    const Localizations out = read_localizations(write_h5r(folder / "a.h5r"), told.sink());
    EXPECT_EQ(out.pixel_size_nm, 100);
    EXPECT_EQ(out.frame, (std::vector<std::uint32_t>{0, 7}));
    expect_near(out.x_px, {10, 11.5f}, "x");
    expect_near(out.y_px, {20, 2.5f}, "y");
    expect_near(out.lpx_px, {0.1f, 0.12f}, "lpx");
    expect_near(out.lpy_px, {0.2f, 0.25f}, "lpy");
    expect_near(out.sx_px, {1.3f, 1.4f}, "sx");
    expect_near(out.sy_px, {1.3f, 1.4f}, "sy");
    EXPECT_EQ(out.extra.at("amplitude").values, (std::vector<double>{500, 600})) << "counts, no photons";
    EXPECT_EQ(out.extra.at("resultCode").values, (std::vector<double>{1, 2}));
    EXPECT_EQ(out.extra.at("fitError_A").values[0], 5);
    EXPECT_TRUE(out.photons.empty() && out.z_nm.empty());
}

TEST(Pyme, a_pixel_size_that_is_not_stored_must_be_given) {
    TemporaryFolder folder;
    const auto path = write_h5r(folder / "a.h5r", 0);
    EXPECT_HAS(message_of<OptionError>([&] { read_localizations(path); }), "`table_pixel_size=100nm`");
    expect_near(read_localizations(path, {}, 50).x_px, {20, 23}, "x");
}

TEST(Pyme, exported_tables_have_the_corrected_positions) {
    struct Exported {
        float t, fitResults_x0, x, y, z, error_x, nPhotons;
    };
    TemporaryFolder folder;
    const auto path = folder / "a.hdf";
    {
        const hdf5::Handle file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
        const hdf5::Handle row(H5Tcreate(H5T_COMPOUND, sizeof(Exported)));
        const char* names[] = {"t", "fitResults_x0", "x", "y", "z", "error_x", "nPhotons"};
        for (std::size_t k = 0; k < std::size(names); ++k)
            H5Tinsert(row, names[k], k * sizeof(float), H5T_NATIVE_FLOAT);
        const Exported rows[] = {{3, 999, 1000, 300, -200, 10, 800}, {4, 899, 900, 310, 150, 11, 900}};
        write_dataset(file, "Data", row, rows, 2);
    }
    const Localizations out = read_localizations(path, {}, 100);
    EXPECT_EQ(out.frame, (std::vector<std::uint32_t>{3, 4}));
    expect_near(out.x_px, {10, 9}, "x");
    expect_near(out.z_nm, {-200, 150}, "z");
    expect_near(out.photons, {800, 900}, "photons");
    expect_near(out.lpx_px, {0.1f, 0.11f}, "lpx");
    EXPECT_EQ(out.extra.at("fitResults_x0").values[0], 999);
}

TEST(Pyme, files_that_break_off_or_have_no_table_are_refused) {
    TemporaryFolder folder;
    const auto path = write_h5r(folder / "a.h5r");
    const auto bytes = std::filesystem::file_size(path);
    for (std::uintmax_t n = bytes - 1; n > 8; n -= std::min<std::uintmax_t>(n, 97)) {
        std::filesystem::resize_file(path, n);
        EXPECT_THROW(read_localizations(path, {}, 100), Error) << n;
    }
    const auto other = folder / "b.hdf";
    {
        const hdf5::Handle file(H5Fcreate(other.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
        write_dataset(file, "Data", type_of_fit(), two.data(), 1);
    }
    EXPECT_HAS(message_of<InputError>([&] { read_localizations(other); }), "PYME (/FitResults)");
}
