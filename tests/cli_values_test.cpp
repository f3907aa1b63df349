// Tests errors about missing values, the commands that they suggest, and cameras.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "glint/camera_io.hpp"
#include "glint/picture_io.hpp"
#include "tests/command_line.hpp"
#include "tests/hold.hpp"
#include "tests/tiff_pages.hpp"
#include "tests/typical_psf.hpp"

using namespace glint;
using namespace glint::test;

TEST_F(CommandLine, what_must_be_known_is_asked_for_with_an_example) {
    make_movie("m.tif");
    const Ended end = glint("localize m.tif -o o.hdf5 --sigma 130nm --gain 0.5");
    EXPECT_EQ(end.exit_code, 2);
    EXPECT_NE(end.err.find("glint localize m.tif -o o.hdf5 --sigma 130nm"), std::string::npos) << end.err;
    EXPECT_NE(end.err.find("--offset 100"), std::string::npos);
    EXPECT_NE(end.err.find("still needed: pixel size, offset. "), std::string::npos) << "the gain was given\n"
                                                                                     << end.err;
    expect_fails("localize m.tif -o o.hdf5 --sigma 130nm --gain 1 --offset 100", 2, "--sigma 130nm");
    expect_fails("localize m.tif -o o.hdf5" + camera, 2, "--sigma 130nm");
    EXPECT_FALSE(exists("o.hdf5.journal"));
}

TEST_F(CommandLine, all_that_is_missing_is_told_at_once) {
    make_movie("m.tif");
    const std::string all = " --sigma 130nm --pixel-size 100nm --offset 100 --gain 0.5\n";
    expect_fails("localize m.tif", 2, "  glint localize m.tif -o locs.hdf5" + all);
    expect_fails("localize", 2, "a movie, output (-o), sigma, pixel size, offset, gain");
    expect_fails("localize m.tif --preview 3", 2, "  glint localize m.tif --preview 3" + all);
    expect_fails("localize m.tif --calibration c.toml --offset 90 --gain 1", 2,
                 "still needed: output (-o), pixel size.");
    expect_fails("fit", 2, "  glint fit rois.npy -o locs.hdf5" + all);
    expect_fails("fit --camera c.toml -o o.csv", 3, "c.toml");
    expect_fails("calibrate astigmatism m.tif", 2, "still needed: -o,--output; --z-step");
    expect_fails("render", 2, "still needed: localizations; -o,--output");
    for (const char* example : {"calibrate astigmatism beads.tif -o cal.toml --z-step 10nm", "run movie.tif -o results",
                                "jobs cancel 12", "render locs.hdf5 -o picture.png"}) {
        const std::string words = example;
        const bool nested = words.starts_with("calibrate") || words.starts_with("jobs");
        const std::size_t command = nested ? words.find(' ', words.find(' ') + 1) : words.find(' ');
        expect_fails(words.substr(0, command), 2, "For example:\n  glint " + words);
    }
}

TEST_F(CommandLine, a_width_beside_a_calibration_is_refused_with_what_to_leave_out) {
    make_movie("m.tif");
    write_astigmatic_curve(folder_ / "cal.toml", typical_psf(PsfModel::AstigmaticXYZNB).curve);
    for (const std::string& command : {"localize m.tif -o o.hdf5" + camera, std::string("simulate -o o.tif")}) {
        const std::string calibrated = command + " --calibration cal.toml";
        expect_fails(calibrated + " --sigma auto", 2,
                     "--sigma auto has no use with AstigmaticXYZNB, whose widths over z --calibration gives: leave "
                     "--sigma out, or for a fit in 2D --calibration");
        expect_fails(command + " --psf AstigmaticXYZNB --sigma 130nm", 2, "gives: leave --sigma out\n");
        const std::string in_2d =
            "--calibration cal.toml gives widths over z, which GaussianXYNB, a fit in 2D, does not take: take --psf "
            "AstigmaticXYZNB";
        expect_fails(calibrated + " --psf GaussianXYNB", 2, in_2d + ", or leave --calibration out and give --sigma\n");
        expect_fails(calibrated + " --psf GaussianXYNB --sigma auto", 2,
                     in_2d + " without --sigma, or leave --calibration out\n");
    }
}

TEST_F(CommandLine, what_a_movie_can_tell_is_said_where_it_is_missing) {
    ASSERT_EQ(glint("simulate -o s.tif --frames 3 --size 32 -q").exit_code, 0);
    expect_fails("localize s.tif -o o.hdf5", 2,
                 "`glint inspect s.tif` estimates them from the movie itself; --offset auto --gain auto --sigma auto");
    expect_fails("localize s.tif -o o.hdf5 --sigma 1.3px --offset 1", 2, "itself; --gain auto uses its estimates");
    const std::string growing = glint("localize s.tif -o o.hdf5 --follow").err;
    EXPECT_EQ(growing.find("auto"), growing.npos) << growing;
}

TEST_F(CommandLine, commands_to_go_on_with_have_the_flags_that_were_given) {
    const auto localize_after = [&](const std::string& flags) {
        const Ended end = glint("simulate -o m.tif --frames 5 --size 32 --overwrite --json" + flags);
        EXPECT_EQ(end.exit_code, 0) << end.err;
        return nlohmann::json::parse(end.out)["localize"].get<std::string>();
    };
    const std::string usual = " --pixel-size 100nm --offset 100 --gain 1";
    EXPECT_EQ(localize_after(" --psf GaussianXYNB"), "glint localize m.tif -o locs.hdf5 --sigma 130nm" + usual);
    write_astigmatic_curve(folder_ / "cal.toml", typical_psf(PsfModel::AstigmaticXYZNB).curve);
    const std::string in_3d = " --psf AstigmaticXYZNB --calibration cal.toml";
    EXPECT_EQ(localize_after(in_3d), "glint localize m.tif -o locs.hdf5 --calibration cal.toml" + usual);
    const std::string without = glint("simulate -o n.tif --psf AstigmaticXYZNB").err;
    EXPECT_NE(without.find("--calibration CAL.toml"), without.npos) << without;
    EXPECT_EQ(without.find("--sigma"), without.npos) << without;
    const std::string command = localize_after(" --psf GaussianXYNBS --sigma 1.2px --readnoise 1.5");
    EXPECT_EQ(command,
              "glint localize m.tif -o locs.hdf5 --psf GaussianXYNBS --sigma 1.2px" + usual + " --readnoise 1.5");
    EXPECT_EQ(run(folder_, command + " -q").exit_code, 0);
    make_movie("bare.tif");
    expect_fails("localize bare.tif -o o.csv --psf GaussianXYNBS --sigma 1.2px --pixel-size 90nm", 2,
                 "glint localize bare.tif -o o.csv --psf GaussianXYNBS --sigma 1.2px --pixel-size 90nm --offset 100");
    expect_fails("fit r.npy -o o.csv --psf GaussianXYNBS --sigma 130nm --pixel-size 100nm --gain 0.5", 2,
                 "glint fit r.npy -o o.csv --psf GaussianXYNBS --sigma 130nm --pixel-size 100nm --gain 0.5 --offset");
}

// The suggested command works in a shell for any name of the movie.
TEST_F(CommandLine, commands_to_paste_are_words_for_a_shell) {
    make_movie("m.tif");
    for (const std::string name : {"a b;c|d.tif", "it's $HOME.tif", "-x.tif", "{a,b}\\#.tif", "two\nlines.tif"}) {
        std::filesystem::copy_file(folder_ / "m.tif", folder_ / name);
        std::ofstream(folder_ / "name") << "./" << name;
        const Ended end = run(folder_, "glint inspect -q --pixel-size 100nm \"$(cat name)\"");
        ASSERT_EQ(end.exit_code, 0) << name << ": " << end.err;
        const std::string begin = "glint localize ";
        const auto at = end.out.find(begin), until = end.out.find(" -o locs.hdf5");
        ASSERT_TRUE(at != end.out.npos && until != end.out.npos) << end.out;
        const std::string words = end.out.substr(at + begin.size(), until - at - begin.size());
        EXPECT_EQ(run(folder_, "printf %s " + words).out, "./" + name) << words;
    }
    const Ended dash = run(folder_, "glint inspect -q --pixel-size 100nm -- -x.tif");
    EXPECT_NE(dash.out.find("glint localize ./-x.tif -o"), dash.out.npos) << dash.out;
}

TEST_F(CommandLine, an_inspected_gain_has_its_unit) {
    make_movie("m.tif");
    const Ended end = glint("inspect m.tif --gain 2 --gain-unit ADU/e- --offset 100 -q");
    EXPECT_EQ(end.exit_code, 0) << end.err;
    EXPECT_NE(end.out.find("0.5 e-/ADU (given)"), std::string::npos) << end.out;
    expect_fails("inspect m.tif --camera-name Zyla", 2, "--camera-name is for --camera config.yaml");
}

TEST_F(CommandLine, a_camera_preset_says_that_its_values_are_typical) {
    make_movie("m.tif");
    const Ended end = glint("localize m.tif -o l.hdf5 --sigma 130nm --pixel-size 100nm --camera-preset andor-zyla");
    ASSERT_EQ(end.exit_code, 0) << end.err;
    EXPECT_NE(end.err.find("gain 0.495 e-/ADU (starting value of preset andor-zyla)"), std::string::npos) << end.err;
    EXPECT_NE(end.out.find("typical of Andor Zyla"), std::string::npos) << end.out;
    EXPECT_NE(end.out.find("glint calibrate camera or glint inspect give better values"), std::string::npos);
    EXPECT_NE(read_bytes(folder_ / "l.yaml").find("Camera's values: typical of Andor Zyla"), std::string::npos);
    expect_fails("localize m.tif -o o.hdf5 --sigma 130nm --camera-preset zyla", 2, "andor-zyla-12bit");
    expect_fails("localize m.tif -o o.hdf5 --sigma 130nm --camera-preset andor-ixon --pixel-size 100nm", 2,
                 "--em-gain 300");
    expect_fails("localize m.tif -o o.hdf5 --sigma 130nm --camera-preset andor-zyla --camera c.toml", 2,
                 "give one of them");
}

TEST_F(CommandLine, a_camera_file_that_holds_arrays_is_named) {
    make_movie("m.tif");
    ASSERT_EQ(glint("localize m.tif -o l.hdf5 -q" + given).exit_code, 0);
    expect_fails("localize m.tif -o o.hdf5 --sigma 130nm --camera l.hdf5", 3,
                 "l.hdf5: has none of the maps offset, gain");
}

TEST_F(CommandLine, a_camera_is_calibrated_and_used) {
    const std::string dark =
        "simulate --spots 0 --background 0 --readnoise 2 --gain 0.5 --size 32 -q --frames 200 --seed 1 -o dark.tif";
    const std::string light =
        "simulate --spots 0 --background 200 --readnoise 2 --gain 0.5 --size 32 -q --frames 200 --seed 2 -o light.tif";
    ASSERT_EQ(glint(dark).exit_code, 0);
    ASSERT_EQ(glint(light).exit_code, 0);
    const Ended end = glint("calibrate camera --dark dark.tif --light light.tif -o camera.toml --pixel-size 100nm -q");
    ASSERT_EQ(end.exit_code, 0) << end.err;
    EXPECT_NE(end.out.find("e-/ADU, of the sensor"), std::string::npos) << end.out;
    EXPECT_TRUE(exists("camera.toml") && exists("camera_maps.hdf5"));
    const Ended used = glint("localize light.tif -o locs.hdf5 --sigma 130nm --camera camera.toml -q");
    EXPECT_EQ(used.exit_code, 0) << used.err;
    expect_fails("calibrate camera --dark dark.tif -o camera.toml", 2, "camera.toml exists");
    expect_fails("calibrate camera --dark dark.tif --light light.tif --gain 1 -o c.toml", 2, "leave one out");
    expect_fails("calibrate camera --dark light.tif --light dark.tif -o c.toml", 3, "not brighter than the dark");
    EXPECT_FALSE(exists("c.toml") || exists("c_maps.hdf5"));
    const Ended only_dark = glint("calibrate camera --dark dark.tif -o dark.toml -q");
    EXPECT_EQ(only_dark.exit_code, 0) << only_dark.err;
    EXPECT_EQ(glint("localize light.tif -o l2.hdf5 --sigma 130nm --camera dark.toml --pixel-size 100nm --gain 0.5 -q")
                  .exit_code,
              0);
}

TEST_F(CommandLine, maps_of_a_larger_sensor_need_the_movies_corner) {
    make_movie("m.tif");  // 48x48 px
    write_float_tiff(folder_ / "offset.tif", {.width = 64, .height = 64, .values = std::vector<float>(64 * 64, 100)});
    std::ofstream(folder_ / "camera.toml") << "pixel_size = \"100nm\"\noffset = \"offset.tif\"\ngain = 1\n";
    for (const std::string command : {"localize m.tif -o l.csv --sigma 130nm", "run m.tif -o r --sigma 130nm",
                                      "inspect m.tif", "localize m.tif -o p.png --preview 0 --sigma 130nm"}) {
        expect_fails(command + " --camera camera.toml", 2, "--sensor-roi X,Y");
        EXPECT_EQ(glint(command + " --camera camera.toml --sensor-roi 0,0").exit_code, 0) << command;
    }
    std::ofstream(folder_ / "camera.toml", std::ios::app) << "sensor_roi = [0, 0]\n";
    EXPECT_EQ(glint("localize m.tif -o l2.csv --sigma 130nm --camera camera.toml").exit_code, 0);
}

TEST_F(CommandLine, why_the_metadata_give_no_pixel_size_is_told_where_it_is_missing) {
    const std::string ome =
        R"(<OME xmlns="http://www.openmicroscopy.org/Schemas/OME/2016-06"><Image ID="Image:0"><Pixels ID="Pixels:0" )"
        R"(DimensionOrder="XYZCT" Type="uint16" SizeX="48" SizeY="48" SizeZ="1" SizeC="1" SizeT="1" )"
        R"(PhysicalSizeX="0.1" PhysicalSizeY="0.2"><TiffData/></Pixels></Image></OME>)";
    write_tiff(folder_ / "m.tif", 1, {.width = 48, .height = 48, .description = ome});
    const Ended end = glint("localize m.tif -o l.csv --sigma 130nm --offset 100 --gain 1");
    EXPECT_EQ(end.exit_code, 2);
    for (const char* part : {"still needed: pixel size", "100 by 200 nm, which are not square"})
        EXPECT_NE(end.err.find(part), std::string::npos) << end.err;
}

TEST_F(CommandLine, maps_of_a_camera_are_told_from_movies) {
    make_movie("dark.tif");
    ASSERT_EQ(glint("calibrate camera --dark dark.tif --gain 0.5 -o camera.toml -q").exit_code, 0);
    expect_fails("inspect camera_maps.hdf5", 3, "maps of a camera (offset, gain): give them with --camera");
}

// All rows state the same precision, so A and B cannot be distinguished.
TEST_F(CommandLine, a_variance_that_many_pairs_do_not_tell_is_not_said_to_lack_them) {
    std::string table = "\"frame\",\"x [nm]\",\"y [nm]\",\"uncertainty [nm]\"\n";
    for (int frame = 1; frame <= 400; ++frame)
        table += fmt::format("{},{},{},10\n", frame, 1000 + 500 * (frame / 20 % 5) + 7 * (frame % 5),
                             1000 + 5 * (frame % 7));
    folder_.write("t.csv", table);
    const Ended end = glint("link t.csv -o l.csv --pixel-size 100nm --radius 4sigma --gap 0");
    ASSERT_EQ(end.exit_code, 0) << end.err;
    EXPECT_NE((end.out + end.err).find("no line A + B CRLB with B above 0 fits the 3"), std::string::npos)
        << end.out << end.err;
}

TEST_F(CommandLine, a_pixel_size_that_the_metadata_contradict_is_told) {
    ASSERT_EQ(glint("simulate -o m.tif --frames 20 --size 48").exit_code, 0);
    const std::string told = "warning: m.tif: its metadata say that pixels are 100 nm wide, and 160 nm is given";
    const std::string other = " --pixel-size 160nm";
    for (const std::string command : {"localize m.tif -o l.csv --sigma 1.3px --offset 100 --gain 1", "inspect m.tif",
                                      "run m.tif -o r --sigma 1.3px --offset 100 --gain 1"}) {
        const Ended end = glint(command + other);
        EXPECT_EQ(end.exit_code, 0) << end.err;
        EXPECT_NE(end.err.find(told), std::string::npos) << command << "\n" << end.err;
        EXPECT_EQ(end.err.find(told), end.err.rfind(told)) << "once\n" << end.err;
    }
    EXPECT_EQ(glint("localize m.tif -o n.csv --sigma 1.3px --offset 100 --gain 1").err.find("its metadata say"),
              std::string::npos);
}

TEST_F(CommandLine, a_full_width_in_place_of_sigma_is_warned_of) {
    ASSERT_EQ(glint("simulate -o m.tif --structure random --frames 60 --spots 4 --photons 1000:2000").exit_code, 0);
    const std::string camera = " --pixel-size 100nm --offset 100 --gain 1";
    const Ended wide = glint("localize m.tif -o w.csv --sigma 306nm" + camera);
    EXPECT_NE(wide.err.find("warning: m.tif: lone spots are 1"), std::string::npos) << wide.err;
    EXPECT_NE(wide.err.find("was the full width at half maximum given?"), std::string::npos) << wide.err;
    const Ended right = glint("localize m.tif -o r.csv --sigma 130nm" + camera);
    EXPECT_EQ(right.err.find("warning"), std::string::npos) << right.err;
}

TEST_F(CommandLine, fits_that_left_their_spots_are_warned_of) {
    ASSERT_EQ(glint("simulate -o m.tif --structure random --frames 4 --spots 15 --photons 1000:2000").exit_code, 0);
    const Ended end =
        glint("localize m.tif -o w.csv --emitters 1 --sigma 600nm --pixel-size 100nm --offset 100 --gain 1");
    EXPECT_EQ(end.exit_code, 0) << end.err;
    EXPECT_NE(end.err.find("fits left the spots that they began at: check the PSF's width (--sigma)"),
              std::string::npos)
        << end.err << end.out;
}
