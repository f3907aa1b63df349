// Maps in separate files, which camera.toml names.
// SPDX-License-Identifier: MIT
#include "io/camera/maps.hpp"

#include <gtest/gtest.h>

#include "glint/error.hpp"
#include "tests/camera_message.hpp"
#include "tests/temporary_folder.hpp"

using namespace glint;
using glint::test::message_of;
using glint::test::TemporaryFolder;

namespace {

const std::vector<float> offsets = {100, 101, 102, 103, 104, 105};

/// Returns a 2-D .npy file of `type`, with its values given as bytes.
std::string npy(const std::string& type, const std::string& shape, const std::string& bytes, bool fortran = false) {
    std::string header =
        "{'descr': '" + type + "', 'fortran_order': " + (fortran ? "True" : "False") + ", 'shape': " + shape + ", }\n";
    return std::string("\x93NUMPY\x01\x00", 8) + char(header.size()) + char(header.size() >> 8) + header + bytes;
}
template <class Value>
std::string bytes_of_values(const std::vector<Value>& values) {
    return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(Value)};
}

}  // namespace

TEST(CameraMaps, a_map_in_a_file_of_its_own) {
    TemporaryFolder folder;
    folder.write("offset.npy", npy("<f4", "(2, 3)", bytes_of_values(offsets)));
    folder.write("gain.npy", npy("<f8", "(2, 3)", bytes_of_values<double>({2, 4, 2, 2, 2, 2}), true));
    folder.write("var.npy", npy(">u2", "(2, 3)", std::string("\0\x10\0\4\0\4\0\x10\0\4\0\4", 12)));
    const std::string names = "offset = \"offset.npy\"\ngain = \"gain.npy\"\nreadvar = \"var.npy\"\n";
    const CameraFile file = read_camera(folder.write("camera.toml", names + "gain_unit = \"ADU/e-\"\n"));
    EXPECT_EQ(file.camera.kind, CameraKind::SCMOS);
    EXPECT_EQ(file.camera.sensor_width, 3);
    EXPECT_EQ(file.camera.sensor_height, 2);
    EXPECT_EQ(file.camera.offset_adu.map, offsets);
    // The file is in column-major order.
    EXPECT_EQ(file.camera.gain_e_per_adu.map, (std::vector<float>{0.5f, 0.5f, 0.5f, 0.25f, 0.5f, 0.5f}));
    EXPECT_EQ(file.camera.readnoise_e.map, (std::vector<float>{2, 1, 1, 1, 1, 1}));
    EXPECT_TRUE(file.has_offset && file.has_gain);
    EXPECT_EQ(file.files.size(), 4u);
    EXPECT_EQ(read_camera(folder.write("camera.toml", names), {}, {.gain_unit = "e-/ADU"}).camera.gain_e_per_adu.map[0],
              2);

    EXPECT_HAS(message_of(folder.write("camera.toml", names)), "does not state its unit (its median is 2)");
    EXPECT_HAS(message_of(folder.write("camera.toml", names + "maps = \"m.hdf5\"\n")), "and maps does, too");
    EXPECT_HAS(message_of(folder.write("camera.toml", names + "readnoise = 1\n")), "the square of readnoise");
    EXPECT_HAS(message_of(folder.write("camera.toml", "offset = \"offset.csv\"\n")), ".npy, .tif");
    EXPECT_HAS(message_of(folder.write("camera.toml", "readvar = 4\n")), "for a number: readnoise");
    EXPECT_HAS(message_of(folder / "offset.npy"), "is one map, and does not say of what");
    EXPECT_THROW(read_camera(folder / "camera.toml", {}, {.gain_unit = "ADU"}), OptionError);
}

TEST(CameraMaps, npy_maps_that_cannot_be) {
    TemporaryFolder folder;
    const std::string values = bytes_of_values(offsets);
    const auto message = [&](const std::string& bytes) {
        folder.write("a.npy", bytes);
        return message_of(folder.write("camera.toml", "offset = \"a.npy\"\n"));
    };
    EXPECT_EQ(message(npy("<f4", "(2, 3)", values)), "no error");
    EXPECT_HAS(message(npy("<f4", "(2, 3)", values.substr(0, 23))), "says 6 values, 5 are there");
    EXPECT_HAS(message(npy("<f4", "(32768, 2048)", values)), "are there whole");
    EXPECT_HAS(message(npy("<f4", "(32768, 32768)", values)), "more than the limit");
    EXPECT_HAS(message(npy("<f4", "(18446744073709551615, 2)", values)), "must have two dimensions");
    EXPECT_HAS(message(npy("<f4", "(99999999999999999999, 2)", values)), "no readable shape");
    EXPECT_HAS(message(npy("<f4", "(1, 2, 3)", values)), "must have two dimensions");
    EXPECT_HAS(message(npy("<f4", "(0, 3)", values)), "must have two dimensions");
    EXPECT_HAS(message(npy("<c8", "(1, 3)", values)), "values of type <c8 are not read");
    EXPECT_HAS(message(npy("|O", "(1, 3)", values)), "are not read");
    EXPECT_HAS(message("no numbers"), "begins neither like .npy nor TIFF");
    folder.write("b.npy", npy("<f4", "(3, 2)", values));
    folder.write("a.npy", npy("<f4", "(2, 3)", values));
    EXPECT_HAS(message_of(folder.write("camera.toml", "offset = \"a.npy\"\nreadnoise = \"b.npy\"\n")),
               "readnoise (b.npy) is 2x3 pixels, the map before it 3x2");
}
