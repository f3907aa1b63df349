// Cameras of Picasso's config.yaml: the values, and what a user must choose if the file is ambiguous.
// SPDX-License-Identifier: MIT
#include "io/camera/picasso_config.hpp"

#include <gtest/gtest.h>

#include "glint/error.hpp"
#include "tests/camera_message.hpp"
#include "tests/temporary_folder.hpp"

using namespace glint;
using glint::test::message_of;
using glint::test::TemporaryFolder;

TEST(PicassoConfig, names_cameras_by_their_settings) {
    TemporaryFolder folder;
    const auto path =
        folder.write("config.yaml",
                     "Cameras:\n"
                     "  Zyla:\n    Pixelsize: 130\n    Baseline: 100\n    Quantum Efficiency: {525: 0.8}\n"
                     "    Sensitivity Categories: [PixelReadoutRate, DynamicRange]\n"
                     "    Sensitivity:\n      540 MHz: {high: 7.18, low: 0.29}\n      200 MHz: {high: 7.0}\n"
                     "  Flash:\n    Baseline: 99\n    Sensitivity: 0.47\n"
                     "  iXon:\n    Sensitivity: 12\n    Gain: 300\n"
                     "  Odd:\n    Sensitivity: -1\n");
    const auto read = [&](const CameraChoice& choice) { return read_camera(path, {}, choice); };
    const auto message = [&](const CameraChoice& choice) -> std::string {
        try {
            read(choice);
        } catch (const Error& error) {
            return error.what();
        }
        return "no error";
    };
    const CameraFile zyla = read({.name = "Zyla", .settings = {"low", "540 MHz"}});
    EXPECT_EQ(zyla.camera.gain_e_per_adu.scalar, 0.29f);
    EXPECT_EQ(zyla.camera.offset_adu.scalar, 100);
    EXPECT_EQ(zyla.camera.relative_qe.scalar, 1) << "photoelectrons, not photons, as Picasso's";
    EXPECT_EQ(zyla.pixel_size_nm, 130);
    EXPECT_EQ(read({.name = "Zyla", .settings = {"200 MHz"}}).camera.gain_e_per_adu.scalar, 7) << "one choice only";
    EXPECT_EQ(read({.name = "Flash"}).camera.gain_e_per_adu.scalar, 0.47f);
    const CameraFile ixon = read({.name = "iXon"});
    EXPECT_EQ(ixon.camera.kind, CameraKind::EMCCD);
    EXPECT_EQ(ixon.camera.em_gain, 300);
    EXPECT_FALSE(ixon.has_offset);

    EXPECT_FALSE(read_camera(folder.write("d.yaml", "Cameras: {A: {Baseline: 100}}")).has_gain);
    EXPECT_HAS(message({}), "give `camera_name` with one of \"Zyla\", \"Flash\", \"iXon\", \"Odd\"");
    EXPECT_HAS(message({.name = "zyla"}), "there are \"Zyla\", \"Flash\"");
    EXPECT_HAS(message({.name = "Zyla"}),
               "depends on PixelReadoutRate: give `camera_setting` with one of \"540 MHz\", \"200 MHz\"");
    EXPECT_HAS(message({.name = "Zyla", .settings = {"540 MHz"}}), "depends on DynamicRange");
    EXPECT_HAS(message({.name = "Flash", .settings = {"540 MHz"}}), "depends on no such setting");
    EXPECT_HAS(message({.gain_unit = "e-/ADU", .name = "Flash"}), "leave it out");
    EXPECT_HAS(message({.name = "Odd"}), "Sensitivity must be a number from 1e-06");
    for (const char* nm : {"-1", "0.5", "1e6"})
        EXPECT_HAS(message_of(folder.write("p.yaml", std::string("Cameras: {A: {Pixelsize: ") + nm + "}}")),
                   "Pixelsize must be a number from 1 to 100000");
    EXPECT_HAS(message_of(folder.write("a.yaml", "Frames: 3\n")), "has no section Cameras");
    EXPECT_HAS(message_of(folder.write("b.yaml", "Cameras: {a: &a {Sensitivity: [*a, {")), "is no YAML");
    std::string deep = "1";
    for (int level = 0; level < 17; ++level) deep = "{x: " + deep + "}";
    EXPECT_HAS(message_of(folder.write("c.yaml", "Cameras: {a: {Sensitivity: " + deep + "}}")), "has no number");
}
