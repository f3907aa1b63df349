// camera.toml, camera maps and calibrations: valid contents and rejected ones.
// SPDX-License-Identifier: MIT
#include "glint/camera_io.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "glint/error.hpp"
#include "io/camera/maps.hpp"
#include "io/hdf5/writing.hpp"
#include "psf/curve_in_um.hpp"
#include "psf/psf_text.hpp"
#include "tests/camera_message.hpp"
#include "tests/temporary_folder.hpp"

using namespace glint;
using glint::test::message_of;
using glint::test::read_bytes;
using glint::test::TemporaryFolder;

namespace {

struct MapOptions {
    std::vector<hsize_t> shape = {2, 3};
    std::string unit = {};
};

void add_map(const std::filesystem::path& path, const char* name, std::vector<float> values, MapOptions options = {}) {
    const bool there = std::filesystem::exists(path);
    const hdf5::Handle file(there ? H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT)
                                  : H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
    hdf5::write_values(file, name, H5T_NATIVE_FLOAT, options.shape, values.data(), path);
    if (options.unit.empty()) return;
    const hdf5::Handle dataset(H5Dopen2(file, name, H5P_DEFAULT)), type(H5Tcopy(H5T_C_S1)),
        space(H5Screate(H5S_SCALAR));
    H5Tset_size(type, options.unit.size() + 1);
    const hdf5::Handle attribute(H5Acreate2(dataset, "unit", type, space, H5P_DEFAULT, H5P_DEFAULT));
    H5Awrite(attribute, type, options.unit.c_str());
}

const std::vector<float> offsets = {100, 101, 102, 103, 104, 105}, gains = {0.5f, 0.5f, 0.5f, 0.25f, 0.5f, 0.5f},
                         variances = {16, 4, 4, 16, 4, 4};

std::filesystem::path data_file(const char* name) {
    const char* folder = std::getenv("GLINT_DATA");
    return (folder ? std::filesystem::path(folder) : std::filesystem::path(GLINT_SOURCE_DIR) / "../shared/data") / name;
}

}  // namespace

TEST(CameraIo, scalars) {
    TemporaryFolder folder;
    const CameraFile file = read_camera(folder.write("camera.toml",
                                                     "kind = \"emccd\"\npixel_size = \"0.16um\"\noffset = 200\n"
                                                     "gain = 12.5 # e-/ADU\nreadnoise = 60\nem_gain = 300\n"));
    EXPECT_EQ(file.camera.kind, CameraKind::EMCCD);
    EXPECT_DOUBLE_EQ(file.pixel_size_nm.value(), 160);
    EXPECT_EQ(file.camera.offset_adu.scalar, 200);
    EXPECT_EQ(file.camera.gain_e_per_adu.scalar, 12.5f);
    EXPECT_EQ(file.camera.readnoise_e.scalar, 60);
    EXPECT_EQ(file.camera.em_gain, 300);
    EXPECT_TRUE(file.has_offset);
    EXPECT_TRUE(file.has_gain);
}

TEST(CameraIo, the_documented_example_is_read) {
    const std::string page = read_bytes(std::filesystem::path(GLINT_SOURCE_DIR) / "docs/reference/formats.md");
    const std::size_t begin = page.find("```toml\nkind") + 8;
    TemporaryFolder folder;
    const CameraFile file =
        read_camera(folder.write("camera.toml", page.substr(begin, page.find("```", begin) - begin)));
    EXPECT_EQ(file.camera.gain_e_per_adu.scalar, 0.46f);
    EXPECT_EQ(file.pixel_size_nm, 100);
}

TEST(CameraIo, missing_values_are_not_invented) {
    TemporaryFolder folder;
    const CameraFile file = read_camera(folder.write("camera.toml", "readnoise = 1.5\n"));
    EXPECT_FALSE(file.has_offset);
    EXPECT_FALSE(file.has_gain);
    EXPECT_FALSE(file.pixel_size_nm.has_value());
    EXPECT_EQ(file.camera.kind, CameraKind::SCMOS);
}

TEST(CameraIo, gain_in_adu_per_photoelectron_is_inverted_only_when_said) {
    TemporaryFolder folder;
    const auto gain = [&](const std::string& text) {
        return read_camera(folder.write("camera.toml", text)).camera.gain_e_per_adu.scalar;
    };
    EXPECT_EQ(gain("gain = 4\n"), 4);
    EXPECT_EQ(gain("gain = 4\ngain_unit = \"e-/ADU\"\n"), 4);
    EXPECT_EQ(gain("gain = 4\ngain_unit = \"ADU/e-\"\n"), 0.25f);
    for (const char* text : {"e-/ADU", "e/ADU", "photoelectrons/ADU", "electrons per count", "e-/DN", "photons/ADU"})
        EXPECT_EQ(parse_gain_unit(text), GainUnit::e_per_adu) << text;
    for (const char* text : {"ADU/e-", "ADU/e", "ADU per photoelectron", "counts/electron", "DN/e-"})
        EXPECT_EQ(parse_gain_unit(text), GainUnit::adu_per_e) << text;
    for (const char* text : {"", "e-", "ADU", "V/e-", "e-/ADU/s"}) EXPECT_FALSE(parse_gain_unit(text)) << text;
}

TEST(CameraIo, maps_with_units) {
    TemporaryFolder folder;
    const auto path = folder / "maps.hdf5";
    add_map(path, "offset", offsets, {.unit = "ADU"});
    add_map(path, "gain", {2, 2, 2, 4, 2, 2}, {.unit = "ADU/e-"});
    add_map(path, "readvar", variances, {.unit = "ADU^2"});
    Camera camera;
    read_camera_maps(path, camera);
    EXPECT_EQ(camera.kind, CameraKind::SCMOS);
    EXPECT_EQ(camera.sensor_width, 3);
    EXPECT_EQ(camera.sensor_height, 2);
    EXPECT_EQ(camera.offset_adu.map, offsets);
    EXPECT_EQ(camera.gain_e_per_adu.map, gains);
    EXPECT_EQ(camera.readnoise_e.map, (std::vector<float>{2, 1, 1, 1, 1, 1}));
}

TEST(CameraIo, any_fault_masks_a_pixel) {
    TemporaryFolder folder;
    const auto path = folder / "maps.hdf5";
    add_map(path, "faults", {0, 1, 0, 3, 0, 2});
    EXPECT_EQ(read_camera(folder.write("camera.toml", "maps = \"maps.hdf5\"\n")).camera.masked,
              (std::vector<std::uint8_t>{0, 1, 0, 1, 0, 1}));
}

TEST(CameraIo, noise_maps_in_any_unit) {
    TemporaryFolder folder;
    const auto noise = [&](const char* dataset, const char* unit) {
        const auto path = folder / "maps.hdf5";
        std::filesystem::remove(path);
        add_map(path, "offset", offsets);
        add_map(path, "gain", gains);
        add_map(path, dataset, variances, {.unit = unit});
        Camera camera;
        read_camera_maps(path, camera);
        return camera.readnoise_e.map[0];
    };
    EXPECT_EQ(noise("readnoise", ""), 16);
    EXPECT_EQ(noise("readnoise", "e- rms"), 16);
    EXPECT_EQ(noise("readnoise", "ADU"), 8);
    EXPECT_EQ(noise("readvar", ""), 2);
    EXPECT_EQ(noise("variance", "ADU^2"), 2);
    EXPECT_EQ(noise("variance", "e-^2"), 4);
    EXPECT_EQ(noise("variance", "electrons²"), 4);
    EXPECT_THROW(noise("variance", "V"), InputError);
}

TEST(CameraIo, toml_with_maps_beside_it) {
    TemporaryFolder folder;
    add_map(folder / "maps.hdf5", "offset", offsets);
    add_map(folder / "maps.hdf5", "variance", variances);
    const CameraFile file =
        read_camera(folder.write("camera.toml", "maps = \"maps.hdf5\"\ngain = 0.5\nsensor_roi = [1, 0]\n"));
    EXPECT_EQ(file.camera.roi_x, 1);
    EXPECT_EQ(file.camera.roi_y, 0);
    EXPECT_TRUE(file.has_offset);
    EXPECT_TRUE(file.has_gain);
    EXPECT_EQ(file.camera.readnoise_e.map, (std::vector<float>{2, 1, 1, 2, 1, 1}));
    EXPECT_FALSE(file.camera.gain_e_per_adu.is_map());

    EXPECT_HAS(message_of(folder.write("twice.toml", "maps = \"maps.hdf5\"\ngain = 0.5\noffset = 1\n")),
               "offset is in maps.hdf5 too");
    EXPECT_HAS(message_of(folder.write("nogain.toml", "maps = \"maps.hdf5\"\n")), "give the gain");
    EXPECT_HAS(message_of(folder.write("nomaps.toml", "maps = \"missing.hdf5\"\n")), "missing.hdf5");
}

// The noise is measured in ADU, so its value in electrons depends on the gain.
TEST(CameraIo, noise_in_adu_follows_a_gain_that_is_given) {
    TemporaryFolder folder;
    add_map(folder / "maps.hdf5", "offset", offsets);
    add_map(folder / "maps.hdf5", "gain", gains);
    add_map(folder / "maps.hdf5", "readvar", variances);
    const auto toml = folder.write("camera.toml", "maps = \"maps.hdf5\"\n");
    const CameraFile own = read_camera(toml), given = read_camera(toml, {.instead = 3.0, .otherwise = 7.0});
    EXPECT_FALSE(given.camera.gain_e_per_adu.is_map());
    EXPECT_EQ(given.camera.gain_e_per_adu.scalar, 3);
    for (std::size_t k = 0; k < variances.size(); ++k) {
        EXPECT_FLOAT_EQ(own.camera.readnoise_e.map[k], std::sqrt(variances[k]) * gains[k]);
        EXPECT_FLOAT_EQ(given.camera.readnoise_e.map[k], std::sqrt(variances[k]) * 3);
    }
    EXPECT_EQ(read_camera(toml, {{}, 7.0}).camera.readnoise_e.map, own.camera.readnoise_e.map);
    std::filesystem::remove(folder / "maps.hdf5");
    add_map(folder / "maps.hdf5", "readvar", variances);  // cannot be converted to electrons without a gain
    const CameraFile other = read_camera(toml, {{}, 7.0});
    EXPECT_FALSE(other.has_gain);
    EXPECT_FLOAT_EQ(other.camera.readnoise_e.map[0], std::sqrt(variances[0]) * 7);
}

TEST(CameraIo, a_map_that_is_only_a_link_is_not_overlooked) {
    TemporaryFolder folder;
    const auto path = folder / "maps.hdf5";
    add_map(path, "offset", offsets);
    add_map(path, "measured_gain", gains);
    const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
    ASSERT_GE(H5Lcreate_soft("/measured_gain", file, "gain", H5P_DEFAULT, H5P_DEFAULT), 0);
    H5Fclose(file);
    const std::string said = message_of(folder.write("camera.toml", "maps = \"maps.hdf5\"\n"));
    for (const char* part : {"maps.hdf5", "gain is only a link to /measured_gain", "h5py"}) EXPECT_HAS(said, part);
}

TEST(CameraIo, maps_that_cannot_be) {
    TemporaryFolder folder;
    const auto message = [](const std::filesystem::path& path) -> std::string {
        try {
            Camera camera;
            read_camera_maps(path, camera);
        } catch (const InputError& error) {
            return error.what();
        }
        return "no error";
    };
    add_map(folder / "dead.hdf5", "offset", offsets);
    add_map(folder / "dead.hdf5", "gain", {1, 1, 1, 1, 0, -1});
    EXPECT_HAS(message(folder / "dead.hdf5"), "gain is 0 at pixel (1, 1) and must be greater than 0; 2 of 6 pixels");
    add_map(folder / "nan.hdf5", "offset", {1, 2, NAN, 4, 5, 6});
    EXPECT_HAS(message(folder / "nan.hdf5"), "offset is nan at pixel (2, 0)");
    add_map(folder / "shapes.hdf5", "offset", offsets);
    add_map(folder / "shapes.hdf5", "gain", gains, {.shape = {3, 2}});
    EXPECT_HAS(message(folder / "shapes.hdf5"), "gain is 2x3 pixels, the map before it 3x2");
    add_map(folder / "flat.hdf5", "offset", offsets, {.shape = {6}});
    EXPECT_HAS(message(folder / "flat.hdf5"), "must have two dimensions");
    add_map(folder / "unit.hdf5", "gain", gains, {.unit = "bananas"});
    EXPECT_HAS(message(folder / "unit.hdf5"), "the unit of gain is not understood");
    add_map(folder / "some.hdf5", "offset", offsets);
    EXPECT_HAS(message(folder / "some.hdf5"), "has no dataset gain");
    add_map(folder / "none.hdf5", "data", offsets);
    EXPECT_HAS(message(folder / "none.hdf5"), "none of the maps");
    EXPECT_HAS(message(folder.write("text.hdf5", "no maps")), "is not an HDF5 file");
    const std::string bytes = read_bytes(folder / "some.hdf5");
    EXPECT_HAS(message(folder.write("cut.hdf5", bytes.substr(0, 300))), "truncated");
    add_map(folder / "e.hdf5", "gain", gains, {.unit = "e-/ADU"});
    EXPECT_HAS(message_of(folder.write("camera.toml", "maps = \"e.hdf5\"\ngain_unit = \"ADU/e-\"\n")), "contradicts");
}

// HDF5 allocates the memory that a text of variable length claims, and copies as much as its heap claims.
TEST(CameraIo, units_that_claim_to_be_longer_than_they_are) {
    TemporaryFolder folder;
    const std::string unit(4321, 'e');
    const auto path = folder / "maps.hdf5";
    add_map(path, "gain", gains);
    {
        const hdf5::Handle file(H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT)), type(H5Tcopy(H5T_C_S1));
        const hdf5::Handle dataset(H5Dopen2(file, "gain", H5P_DEFAULT)), space(H5Screate(H5S_SCALAR));
        H5Tset_size(type, H5T_VARIABLE);
        const hdf5::Handle attribute(H5Acreate2(dataset, "unit", type, space, H5P_DEFAULT, H5P_DEFAULT));
        const char* text = unit.c_str();
        H5Awrite(attribute, type, &text);
    }
    const std::string sound = read_bytes(path);
    const auto message = [&] { return message_of(folder.write("camera.toml", "maps = \"maps.hdf5\"\n")); };
    EXPECT_HAS(message(), "the unit of gain is not understood");
    const std::string length = std::string("\xe1\x10\0\0", 4);
    int places = 0;
    for (auto at = sound.find(length); at != sound.npos; at = sound.find(length, at + 1), ++places)
        for (const char* claim : {"\xe1\x10\x01\0", "\xe1\x10\0\x60", "\xff\xff\xff\x7f"}) {
            std::string bytes = sound;
            folder.write("maps.hdf5", bytes.replace(at, 4, claim, 4));
            EXPECT_HAS(message(), "the attribute unit of gain is no text or damaged");
        }
    EXPECT_EQ(places, 2) << "in the attribute and in the heap";
}

TEST(CameraIo, maps_of_more_pixels_than_a_camera_has) {
    TemporaryFolder folder;
    const auto path = folder / "maps.hdf5";
    {
        const hdf5::Handle file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
        const hsize_t shape[] = {1, 16384, 16384};
        const hdf5::Handle space(H5Screate_simple(2, shape + 1, nullptr)), properties(H5Pcreate(H5P_DATASET_CREATE));
        const hsize_t chunk[] = {1024, 1024};
        H5Pset_chunk(properties, 2, chunk);
        H5Pset_deflate(properties, 1);
        H5Pset_alloc_time(properties, H5D_ALLOC_TIME_EARLY);
        const hdf5::Handle dataset(
            H5Dcreate2(file, "offset", H5T_STD_I8LE, space, H5P_DEFAULT, properties, H5P_DEFAULT));
        ASSERT_TRUE(dataset.valid());
    }
    EXPECT_HAS(message_of(folder.write("camera.toml", "maps = \"maps.hdf5\"\n")),
               "16384x16384 pixels, more than the limit");
}

TEST(CameraIo, hdf5_maps_alone) {
    TemporaryFolder folder;
    const auto path = folder / "maps.hdf5";
    add_map(path, "offset", offsets);
    add_map(path, "gain", {2, 2, 2, 4, 2, 2});
    add_map(path, "variance", variances);
    EXPECT_HAS(message_of(path), "does not state its unit");
    EXPECT_EQ(read_camera(path, {}, {.gain_unit = "ADU/e-"}).camera.gain_e_per_adu.map, gains);
    EXPECT_EQ(read_camera(path, {.instead = 3.0}).camera.gain_e_per_adu.scalar, 3) << "the map is of no interest then";
    {
        const hdf5::Handle file(H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT)), type(H5Tcopy(H5T_C_S1)),
            space(H5Screate(H5S_SCALAR));
        const hdf5::Handle attribute(H5Acreate2(file, "metadata", type, space, H5P_DEFAULT, H5P_DEFAULT));
        H5Awrite(attribute, type, "{");
    }
    EXPECT_EQ(read_camera(path).camera.gain_e_per_adu.map, gains) << "Picasso's are in ADU/e-";
}

TEST(CameraIo, keys_without_end) {
    TemporaryFolder folder;
    std::string key = "a";
    for (int k = 0; k < 400'000; ++k) key += ".a";
    for (const std::string& text : {"[" + key + "]\n", key + " = 1\n", "x = [\n{" + key + " = 1}]\n"})
        EXPECT_HAS(message_of(folder.write("camera.toml", text)), "more than 32 dots");
    const std::string remark = "# " + std::string(99, '.') + "\ngain = 0.5 # ...\n";
    EXPECT_EQ(read_camera(folder.write("camera.toml", remark)).camera.gain_e_per_adu.scalar, 0.5f);
}

TEST(CameraIo, toml_that_cannot_be) {
    TemporaryFolder folder;
    const auto message = [&](const std::string& text) { return message_of(folder.write("camera.toml", text)); };
    EXPECT_HAS(message("ofset = 100\n"), "camera.toml:1:1: no key ofset is known: did you mean offset?");
    EXPECT_HAS(message("gain = 1\nemgain = 2\n"), "did you mean em_gain?");
    EXPECT_HAS(message("whatever_this_is = 2\n"), "there are kind, pixel_size");
    EXPECT_HAS(message("gain = 0\n"), "camera.toml:1:8: gain is 0, outside 1e-06 to 1000000");
    EXPECT_HAS(message("gain = -2.5\n"), "gain is -2.5, outside");
    EXPECT_HAS(message("gain = nan\n"), "gain is nan, outside");
    EXPECT_HAS(message("gain = \"two\"\n"), "gain must be a number");
    EXPECT_HAS(message("offset = 1\noffset = 2\n"), "camera.toml:2:");
    EXPECT_HAS(message("offset = = 1\n"), "camera.toml:1:");
    EXPECT_HAS(message("pixel_size = 100\n"), "must be a text in quotes");
    EXPECT_HAS(message("pixel_size = \"100\"\n"), "pixel_size is wrong");
    EXPECT_HAS(message("pixel_size = \"1px\"\n"), "must be in nm or um");
    EXPECT_HAS(message("pixel_size = \"0.5nm\"\n"), "camera.toml:1:14: pixel_size is 0.5nm, outside 1 to 100000 nm");
    EXPECT_HAS(message("pixel_size = \"1e30um\"\n"), "pixel_size is 1e30um, outside 1 to 100000 nm");
    EXPECT_HAS(message("gain_unit = \"ADU\"\n"), "must be \"e-/ADU\" or \"ADU/e-\"");
    EXPECT_HAS(message("gain_unit = \"ADU/e-\"\n"), "give one of them too");
    EXPECT_HAS(message("kind = \"ccd\"\n"), "must be \"ideal\", \"scmos\" or \"emccd\"");
    EXPECT_HAS(message("kind = \"scmos\"\nem_gain = 100\n"), "belongs to kind = \"emccd\"");
    EXPECT_HAS(message("kind = \"ideal\"\nreadnoise = 1\n"), "does not belong to an ideal camera");
    EXPECT_HAS(message("sensor_roi = [1, 2]\n"), "give maps too");
    for (const char* roi : {"[1]", "[1, 2, 3]", "[-1, 0]", "[1.5, 2]", "3"})
        EXPECT_HAS(message(std::string("maps = \"a\"\nsensor_roi = ") + roi + "\n"), "must be 2 whole numbers");
    EXPECT_HAS(message(std::string(2 << 20, ' ')), "2097152 bytes");
    EXPECT_HAS(message_of(folder / "missing.toml"), "does not exist");
    EXPECT_HAS(message_of(folder.path()), "is not a file");
}

TEST(CameraIo, measured_maps_of_a_real_camera) {
    const auto path = data_file("scmos_maps.hdf5");
    if (!std::filesystem::exists(path)) GTEST_SKIP() << "no " << path << ": GLINT_DATA names the folder";
    TemporaryFolder folder;
    const std::string maps = "maps = \"" + std::filesystem::absolute(path).string() + "\"\n";
    const CameraFile right = read_camera(folder.write("a.toml", maps + "gain_unit = \"ADU/e-\"\n"));
    EXPECT_EQ(right.camera.sensor_width, 700);
    EXPECT_TRUE(camera_warnings(right.camera).empty());
    std::vector<float> variance;
    for (float noise : right.camera.readnoise_e.map) variance.push_back(noise * noise);
    std::nth_element(variance.begin(), variance.begin() + 245000, variance.end());
    EXPECT_NEAR(variance[245000], 5.4, 0.1);  // the median measured by the authors of the maps
    const CameraFile wrong = read_camera(folder.write("b.toml", maps));
    EXPECT_EQ(camera_warnings(wrong.camera).size(), 1u);
}

TEST(CameraIo, calibration_reads_back_to_the_last_digit) {
    TemporaryFolder folder;
    const AstigmaticCurve in{140, 135, -205, 290, 0.05, 0.03, -0.01, 1.0 / 3, -400, 500, 13, 65};
    write_astigmatic_curve(folder / "c.toml", in);
    EXPECT_HAS(read_bytes(folder / "c.toml"), "sx0_um = 0.14 ");
    EXPECT_HAS(read_bytes(folder / "c.toml"), "pixel_size_um = 0.065 ");
    const AstigmaticCurve out = read_astigmatic_curve(folder / "c.toml");
    EXPECT_EQ(out.sx0_nm, in.sx0_nm);
    EXPECT_EQ(out.sy0_nm, in.sy0_nm);
    EXPECT_EQ(out.gamma_nm, in.gamma_nm);
    EXPECT_EQ(out.d_nm, in.d_nm);
    EXPECT_EQ(out.ax, in.ax);
    EXPECT_EQ(out.bx, in.bx);
    EXPECT_EQ(out.ay, in.ay);
    EXPECT_EQ(out.by, in.by);
    EXPECT_EQ(out.z_min_nm, in.z_min_nm);
    EXPECT_EQ(out.z_max_nm, in.z_max_nm);
    EXPECT_EQ(out.roi_size, in.roi_size);
    EXPECT_EQ(out.pixel_size_nm, in.pixel_size_nm);
}

// Up to 15 digits: with more, the conversion of units may change the last digit.
TEST(CameraIo, a_calibration_that_was_read_is_written_with_the_same_bytes) {
    TemporaryFolder folder;
    std::mt19937_64 random(1);
    std::uniform_real_distribution<double> uniform(0.01, 1);
    const auto length = [&] { return std::stod(fmt::format("{:.15g}", uniform(random))); };
    for (int k = 0; k < 100; ++k) {
        CurveInUm curve{length(), length(), -length(), length()};
        curve.ax = length(), curve.z_min_um = -length(), curve.z_max_um = length();
        curve.roi_size = 13, curve.pixel_size_um = length();
        const AstigmaticCurve first = in_nm(curve);
        write_astigmatic_curve(folder / "first.toml", first);
        EXPECT_HAS(read_bytes(folder / "first.toml"), fmt::format("sx0_um = {} ", curve.sx0_um));
        const AstigmaticCurve again = read_astigmatic_curve(folder / "first.toml");
        write_astigmatic_curve(folder / "again.toml", again);
        EXPECT_EQ(read_bytes(folder / "again.toml"), read_bytes(folder / "first.toml"));
        EXPECT_EQ(to_text({PsfModel::AstigmaticXYZNB, 0, again}), to_text({PsfModel::AstigmaticXYZNB, 0, first}));
    }
}

TEST(CameraIo, calibrations_that_cannot_be) {
    TemporaryFolder folder;
    write_astigmatic_curve(folder / "good.toml", {140, 135, 200, 290, 0, 0, 0, 0, -400, 400});
    const std::string good = read_bytes(folder / "good.toml");
    const auto message = [&](const std::string& from, const std::string& to) -> std::string {
        std::string text = good;
        text.replace(text.find(from), from.size(), to);
        try {
            read_astigmatic_curve(folder.write("c.toml", text));
        } catch (const InputError& error) {
            return error.what();
        }
        return "no error";
    };
    EXPECT_EQ(message("0.14", "0.15"), "no error");
    EXPECT_HAS(message("0.14", "-1"), "sx0_um is -1, outside");
    EXPECT_HAS(message("d_um", "dd_um"), "did you mean d_um?");
    EXPECT_HAS(message("d_um = 0.29", ""), "d_um is missing");
    EXPECT_HAS(message("z_max_um = 0.4", "z_max_um = -0.5"), "must be greater than z_min_um");
    EXPECT_HAS(message("[astigmatism]", "[calibration]"), "no key calibration is known");
    EXPECT_HAS(message("roi_px = 0", "roi_px = 2"), "roi_px is 2, no whole number from 3 to 31, nor 0");
    EXPECT_HAS(message("roi_px = 0", "roi_px = 9.5"), "roi_px is 9.5, no whole number");
    EXPECT_HAS(message("roi_px = 0", "roi_px = 33"), "outside 0 to 31");
}

TEST(CameraIo, calibrations_of_older_versions_have_a_window_that_nobody_knows) {
    TemporaryFolder folder;
    write_astigmatic_curve(folder / "old.toml", {.sx0_nm = 140, .sy0_nm = 135, .d_nm = 290, .roi_size = -1});
    EXPECT_EQ(read_bytes(folder / "old.toml").find("roi_px"), std::string::npos);
    EXPECT_EQ(read_astigmatic_curve(folder / "old.toml").roi_size, AstigmaticCurve::unknown_roi);
}
