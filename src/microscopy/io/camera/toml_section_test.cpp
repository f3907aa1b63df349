// TOML files given where another kind is expected.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "glint/camera_io.hpp"
#include "glint/error.hpp"
#include "tests/expect_error.hpp"
#include "tests/temporary_folder.hpp"

using namespace glint;

TEST(TomlKind, of_another_file_is_named) {
    const test::TemporaryFolder folder;
    const auto camera = folder.write("camera.toml", "offset = 100\ngain = 0.5\n");
    const auto recipe = folder.write("recipe.toml", "[camera]\noffset = 100\n[psf]\nsigma = \"130nm\"\n");
    write_astigmatic_curve(folder / "cal.toml", {});
    test::expect_error<InputError>([&] { read_astigmatic_curve(camera); },
                                   {"camera.toml is a camera and not a calibration", "`camera=FILE`"});
    test::expect_error<InputError>([&] { read_camera(folder / "cal.toml"); },
                                   {"cal.toml is a calibration and not a camera", "`calibration=FILE`"});
    for (const auto read : {+[](const std::filesystem::path& path) { read_camera(path); },
                            +[](const std::filesystem::path& path) { read_astigmatic_curve(path); }})
        test::expect_error<InputError>([&] { read(recipe); }, {"recipe.toml is a recipe", "`recipe=FILE`"});
    test::expect_error<InputError>([&] { read_camera(folder.write("header.toml", "[camera]\noffset = 100\n")); },
                                   {"header.toml has a header [camera]", "leave this line out"});
    for (const char* section :
         {"movie", "psf", "localize", "filter", "drift", "resolution", "link", "molecules", "render", "figures"})
        test::expect_error<InputError>(
            [&] { read_camera(folder.write("part.toml", "[" + std::string(section) + "]\n")); },
            {"part.toml is a recipe and not a camera"});
    for (const char* line : {"pixel_size = \"100nm\"", "qe = 0.9", "kind = \"sCMOS\"", "sensor_roi = [0, 0]"})
        test::expect_error<InputError>([&] { read_astigmatic_curve(folder.write("part.toml", line)); },
                                       {"part.toml is a camera and not a calibration"});
    test::expect_error<InputError>([&] { read_camera(folder.write("bad.toml", "gian = 1\n")); },
                                   {"did you mean gain?"});
}
