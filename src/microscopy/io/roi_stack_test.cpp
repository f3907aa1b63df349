// ROI stacks: false headers, and cameras with maps. tests/judge/test_rois.py reads files written by NumPy and h5py.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "glint/error.hpp"
#include "glint/movie_io.hpp"
#include "io/hdf5/writing.hpp"
#include "tests/expect_error.hpp"
#include "tests/on_threads.hpp"
#include "tests/temporary_folder.hpp"
#include "tests/tiff_pages.hpp"

using namespace glint;
using test::expect_error;

namespace {

std::string npy(const std::string& header, const std::string& data = "", int version = 1) {
    std::string prefix =
        std::string("\x93NUMPY") + char(version) + '\0' + char(header.size() & 255) + char(header.size() >> 8);
    if (version > 1) prefix += std::string(2, '\0');
    return prefix + header + data;
}

std::string header(const std::string& shape, const std::string& type = "<f4") {
    return "{'descr': '" + type + "', 'fortran_order': False, 'shape': " + shape + ", }\n";
}

std::string float_bytes(const std::vector<float>& values) {
    return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

/// Two 3x3 ROIs with counts 0 to 17, at (1, 0) and (2, 3).
std::filesystem::path write_hdf5(const test::TemporaryFolder& folder, std::vector<int> x = {1, 2}) {
    const auto path = folder / "rois.h5";
    float counts[18];
    for (int k = 0; k < 18; ++k) counts[k] = float(k);
    const hsize_t shape[] = {2, 3, 3}, rows[] = {2};
    const int y[] = {0, 3};
    const hdf5::Handle file = hdf5::Handle(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
    hdf5::write_values(file, "rois", H5T_NATIVE_FLOAT, shape, counts, path);
    hdf5::write_values(file, "x_corner", H5T_NATIVE_INT, rows, x.data(), path);
    hdf5::write_values(file, "y_corner", H5T_NATIVE_INT, rows, y, path);
    return path;
}

/// A sensor of 6x8 pixels on which the movie begins at (1, 2): offset 100 + k, gain 2, read noise k / 10 at pixel k.
Camera mapped_camera() {
    Camera camera;
    camera.kind = CameraKind::SCMOS;
    camera.sensor_width = 6;
    camera.sensor_height = 8;
    camera.roi_x = 1;
    camera.roi_y = 2;
    camera.gain_e_per_adu.scalar = 2;
    for (int k = 0; k < 48; ++k) {
        camera.offset_adu.map.push_back(float(100 + k));
        camera.readnoise_e.map.push_back(0.1f * float(k));
    }
    return camera;
}

}  // namespace

TEST(RoiStack, scalar_camera) {
    const test::TemporaryFolder folder;
    const auto path = folder.write("rois.npy", npy(header("(1, 3, 3)"), float_bytes({1, 2, 3, 4, 5, 6, 7, 8, 9})));
    Camera camera;
    camera.kind = CameraKind::EMCCD;
    camera.offset_adu.scalar = 1;
    camera.gain_e_per_adu.scalar = 10;
    camera.readnoise_e.scalar = 30;
    camera.em_gain = 20;
    const Rois rois = read_rois(path, camera);
    EXPECT_EQ(rois.size, 3);
    EXPECT_EQ(rois.pixels, (std::vector<float>{0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4}));
    EXPECT_EQ(rois.variance_scalar, 1.5f * 1.5f);
    EXPECT_EQ(rois.excess_noise, 2);
    EXPECT_TRUE(rois.variance.empty() && rois.x_corner.empty() && rois.frame.empty());
}

TEST(RoiStack, maps_apply_where_the_corners_say) {
    const test::TemporaryFolder folder;
    const Rois rois = read_rois(write_hdf5(folder), mapped_camera());
    for (int k = 0; k < 18; ++k) {
        const int x = (k < 9 ? 1 : 2) + k % 3, y = (k < 9 ? 0 : 3) + k % 9 / 3;
        const int sensor_pixel = (y + 2) * 6 + x + 1;
        EXPECT_FLOAT_EQ(rois.pixels[std::size_t(k)], 2.0f * float(k - 100 - sensor_pixel));
        EXPECT_FLOAT_EQ(rois.variance[std::size_t(k)], 0.01f * float(sensor_pixel * sensor_pixel));
    }
}

TEST(RoiStack, maps_need_corners_inside_them) {
    const test::TemporaryFolder folder;
    const auto bare = folder.write("rois.npy", npy(header("(1, 3, 3)"), std::string(36, '\0')));
    expect_error<OptionError>([&] { read_rois(bare, mapped_camera()); }, {"rois.npy", "x_corner"});
    const auto outside = write_hdf5(folder, {1, 3});
    expect_error<InputError>([&] { read_rois(outside, mapped_camera()); }, {"ROI 1 of 3 px at (3, 3)", "5x6 pixels"});
    Camera beyond = mapped_camera();
    beyond.roi_x = 9;
    EXPECT_THROW(read_rois(outside, beyond), OptionError);
}

TEST(RoiStack, not_a_number_stays_for_the_fit_to_refuse) {
    const test::TemporaryFolder folder;
    std::vector<float> counts(9, 5);
    counts[4] = std::nanf("");
    const Rois rois = read_rois(folder.write("rois.npy", npy(header("(1, 3, 3)"), float_bytes(counts))), Camera{});
    EXPECT_TRUE(std::isnan(rois.pixels[4]));
    EXPECT_EQ(rois.pixels[5], 5);
}

TEST(RoiStack, a_page_of_a_tiff_is_a_roi) {
    const test::TemporaryFolder folder;
    const Rois rois =
        read_rois(test::write_tiff(folder / "rois.tif", 3, {.width = 6, .height = 6, .bits = 8}), Camera{});
    EXPECT_EQ(rois.count(), 3u);
    EXPECT_EQ(rois.pixels[2 * 36 + 5], float(test::pattern_byte(2, 5)));
    const auto oblong = test::write_tiff(folder / "oblong.tif", 3);
    expect_error<InputError>([&] { read_rois(oblong, Camera{}); }, {"oblong.tif", "(3, 6, 8)"});
}

TEST(RoiStack, hostile_npy_headers) {
    const test::TemporaryFolder folder;
    const auto refused = [&](const std::string& bytes, std::initializer_list<const char*> parts) {
        const auto path = folder.write("rois.npy", bytes);
        expect_error<InputError>([&] { read_rois(path, Camera{}); }, parts);
    };
    refused(npy(header("(1000000000000, 31, 31)")), {"rois.npy", "truncated", "1000000000000 ROIs, 0 are there"});
    refused(npy(header("(18446744073709551615, 3, 3)")), {"truncated"});
    refused(npy(header("(99999999999999999999999, 3, 3)")), {"no readable shape"});
    refused(npy(header("(-1, 3, 3)")), {"no readable shape"});
    refused(npy(header("(1, 3, 3")), {"header"});
    refused(npy(header("(1, 4294967299, 4294967299)")), {"no stack of ROIs"});
    refused(npy("{'descr': '<f4'"), {"is no dictionary"});
    refused(npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1, 3, 3)}"), {"structured"});
    refused(npy("{'descr': '<f4', 'fortran_order': 1, 'shape': (1, 3, 3)}"), {"fortran_order"});
    refused(npy("{'descr': '<f4', 'exec': 'rm', 'shape': (1, 3, 3)}"), {"unknown key"});
    refused(npy(header("(1, 3, 3)", "=f4"), std::string(36, 'x')), {"=f4"});
    refused(npy("{}"), {"()"});
    refused(npy(header("(1, 3, 3)"), "", 4), {"version 4"});
    refused(std::string("\x93NUMPY\x02\x00\xff\xff\xff\xff", 12), {"header of 4294967295 bytes"});
    refused(std::string("\x93NUMPY\x01\x00\xff\x7f", 10), {"breaks off"});
    refused("\x93NUMPY", {"is no .npy file"});
}

TEST(RoiStack, any_number_of_threads_reads_the_same) {
    const test::TemporaryFolder folder;
    constexpr std::size_t rois = 5000, values = rois * 7 * 7;  // several pieces per thread
    std::vector<std::uint16_t> counts(values);
    for (std::size_t k = 0; k < values; ++k) counts[k] = std::uint16_t(k * 31 % 65521);
    const std::string bytes(reinterpret_cast<const char*>(counts.data()), 2 * values);
    const auto path = folder.write("rois.npy", npy(header("(5000, 7, 7)", "<u2"), bytes));
    Camera camera;
    camera.offset_adu.scalar = 100, camera.gain_e_per_adu.scalar = 0.5;
    for (const int threads : {1, 2, 5})
        test::on_threads(threads, [&] {
            const Rois read = read_rois(path, camera);
            ASSERT_EQ(read.count(), rois);
            for (std::size_t k = 0; k < values; ++k) ASSERT_EQ(read.pixels[k], (float(counts[k]) - 100) * 0.5f) << k;
        });
}

TEST(RoiStack, says_what_is_wrong_with_a_path) {
    const test::TemporaryFolder folder;
    expect_error<InputError>([&] { read_rois(folder / "none.npy", Camera{}); }, {"none.npy", "No such file"});
    const auto text = folder.write("text.npy", "0 1 2 3");
    expect_error<InputError>([&] { read_rois(text, Camera{}); }, {"text.npy: is no stack of ROIs"});
    const auto damaged = folder.write("damaged.h5", "\x89HDF\r\n\x1a\n and then nothing more");
    expect_error<InputError>([&] { read_rois(damaged, Camera{}); }, {"damaged.h5", "damaged or truncated"});
}
