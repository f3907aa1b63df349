// Tests the program as a whole: commands, exit codes and error messages.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "glint/localization_io.hpp"
#include "glint/movie_io.hpp"
#include "glint/picture_io.hpp"
#include "tests/command_line.hpp"
#include "tests/hold.hpp"

using namespace glint;
using namespace glint::test;

TEST_F(CommandLine, from_simulation_to_picture) {
    ASSERT_EQ(glint("simulate -o m.tif --frames 60 --size 64 --spots 4 --seed 3 -q").exit_code, 0);
    const Ended localized = glint("localize m.tif -o locs.hdf5 --json" + given);
    ASSERT_EQ(localized.exit_code, 0) << localized.err;
    const auto result = nlohmann::json::parse(localized.out);
    EXPECT_EQ(result["complete"], true);
    EXPECT_EQ(result["frames"], 60);
    EXPECT_EQ(result["output"], "locs.hdf5");
    const Ended scored = glint("score locs.hdf5 m_truth.csv --json");
    ASSERT_EQ(scored.exit_code, 0) << scored.err;
    const auto score = nlohmann::json::parse(scored.out);
    // Nearly all molecules of 500 photons on background 10 are found. About 1 in 10 spots is lost in overlaps.
    EXPECT_GT(score["recall"], 0.8);
    EXPECT_GT(score["precision"], 0.9);
    EXPECT_EQ(score["radius_nm"], 100);
    EXPECT_EQ(score["recall_by_neighbor"].size(), 7u);
    EXPECT_TRUE(score["recall_by_neighbor"][6]["to_px"].is_null()) << "infinity";
    const Ended flat = glint("score locs.hdf5 m_truth.csv --radius 250nm --axial-radius 500nm");
    EXPECT_EQ(flat.exit_code, 0);
    EXPECT_NE(flat.err.find("--axial-radius has no effect: locs.hdf5 has no z"), std::string::npos) << flat.err;
    EXPECT_NE(flat.out.find("% (pairs within 250 nm)"), std::string::npos) << flat.out;
    EXPECT_NE(flat.out.find("neighbour, px"), std::string::npos) << flat.out;
    EXPECT_EQ(flat.err.find("swapped"), std::string::npos) << flat.err;
    EXPECT_NE(glint("score m_truth.csv locs.hdf5 --pixel-size 100nm").err.find("are the two swapped?"),
              std::string::npos);
    expect_fails("score locs.hdf5 m_truth.csv --radius 1e306um", 2, "matching radius of inf nm");
    EXPECT_EQ(glint("render locs.hdf5 -o p.png --zoom 4").exit_code, 0);
    EXPECT_EQ(read_png(folder_ / "p.png").width, 256);
    EXPECT_EQ(glint("render locs.hdf5 -o p.tif --mode histogram --zoom 2").exit_code, 0);
    EXPECT_EQ(open_movie(folder_ / "p.tif")->info().width, 128);
    EXPECT_EQ(glint("localize m.tif --preview 5 -o spots.png" + given).exit_code, 0);
    EXPECT_GT(read_png(folder_ / "spots.png").width, 64);
}

TEST_F(CommandLine, what_is_misspelt_is_guessed) {
    expect_fails("localize m.tif --simga 130nm", 2, "glint localize has no option --simga: did you mean --sigma?");
    expect_fails("localize m.tif --out=o.hdf5", 2, "--out=o.hdf5: did you mean --output?");
    expect_fails("calibrate astigmatism b.tif -o c.toml --z-step 1nm --pixelsize 9nm", 2, "did you mean --pixel-size?");
    expect_fails("localize m.tif --colour red", 2, "has no option --colour (glint localize --help explains)");
    expect_fails("localise m.tif", 2, "did you mean glint localize?");
    expect_fails("preview --help", 2, "did you mean glint localize MOVIE --preview FRAME?");
    expect_fails("cluster l.hdf5 -o k.hdf5 --raduis 5", 2,
                 "glint cluster has no option --raduis: did you mean --radius?; still needed: --radius (glint");
    expect_fails("jobs cancl 5", 2,
                 "not expected: cancl 5: did you mean glint jobs cancel? (glint jobs --help explains)");
    expect_fails("frc", 2, "did you mean glint resolution?");
    expect_fails("run m.tif -o r --threshold 7", 2,
                 "glint run has no option --threshold: it is threshold of [localize] in the recipe");
    expect_fails("run m.tif -o r --roi=9 --picture-pixel 5nm", 2, "--roi: it is roi_size of [localize]");
    expect_fails("run m.tif -o r --picture-pixel 5nm", 2,
                 "it is picture_pixel of [render] in the recipe (--recipe FILE)");
    expect_fails("calibrate --hlep", 2, "has no option --hlep: did you mean --help?");
    expect_fails("help dance", 2, "there is no command dance. Commands are: run localize inspect fit");
}

TEST_F(CommandLine, a_flag_with_a_value_of_its_own_is_shown_without_it) {
    const std::string help = glint("render --help").out;
    EXPECT_NE(help.find("--colors "), help.npos);
    EXPECT_EQ(help.find("{auto}"), help.npos) << help;
}

TEST_F(CommandLine, lengths_that_are_wrong_are_told_with_those_that_fit) {
    make_movie("m.tif");
    const std::string z_step = "calibrate astigmatism m.tif -o c.toml --z-step 10";
    expect_fails(z_step, 2, "--z-step 10: expected a number with its unit, as in 10nm or 0.01um");
    EXPECT_EQ(glint(z_step).err.find("still needed"), std::string::npos) << "it would repeat the length";
    expect_fails("localize m.tif --sigma 130", 2, "--sigma 130: expected a number with its unit");
    expect_fails("localize m.tif -o o.csv --pixel-size 100", 2, "as in 100nm or 0.1um");
    expect_fails("inspect m.tif --pixel-size 100", 2, "as in 100nm or 0.1um");
    EXPECT_EQ(glint("localize m.tif -o o.hdf5 --sigma '130 nm' --pixel-size '100 nm' --offset 100 --gain 1").exit_code,
              0);
    expect_fails("link o.hdf5 -o l.csv --radius 30", 2, "as in 30nm, 4sigma or auto");
}

TEST_F(CommandLine, files_of_another_kind_are_named) {
    ASSERT_EQ(glint("simulate -o m.tif --frames 5 --size 32").exit_code, 0);
    ASSERT_EQ(glint("localize m.tif -o l.hdf5" + given).exit_code, 0);
    for (const char* ending : {"csv", "smlm.h5"})
        ASSERT_EQ(glint(fmt::format("convert l.hdf5 -o l.{}", ending)).exit_code, 0);
    for (const char* ending : {"hdf5", "csv", "smlm.h5"})
        expect_fails(fmt::format("localize l.{} -o o.hdf5", ending) + given, 3, "is a table, and no movie");
    std::ofstream(folder_ / "camera.toml") << "offset = 100\ngain = 1\n";
    expect_fails("run m.tif -o r --recipe camera.toml", 3, "camera.toml is a camera and not a recipe");
}

TEST_F(CommandLine, a_simulation_that_the_disk_has_no_room_for_is_refused) {
    expect_fails("simulate -o m.tif --size 65536 --frames 4294967295", 4, "fewer --frames");
    EXPECT_FALSE(exists("m.tif"));
}

TEST_F(CommandLine, wrong_values_are_named_with_what_is_expected) {
    expect_fails("localize m.tif -o o.hdf5 --gain x", 2, "--gain x: expected a number (glint localize");
    expect_fails("run m.tif -o o --threads 0", 2, "--threads 0: expected a whole number from 1 to 4096 (");
    expect_fails("localize m.tif --threads 1.5", 2, "--threads 1.5: expected a whole number from 1 to 4096 (");
    expect_fails("localize m.tif --threshold 0", 2, "--threshold 0: expected a number from 1 to 1000 (");
    expect_fails("localize m.tif --preview 1e1", 2, "--preview 1e1: expected a whole number (");
    expect_fails("localize m.tif --stdin 5x5", 2, "--stdin takes 2 values, and got 1 (");
    expect_fails("localize m.tif --sigma 1px --sigma 2px", 2, "--sigma takes 1 value, and got 2 (");
    expect_fails("drift l.hdf5 -o d.hdf5 --undo=maybe", 2, "--undo takes no value, and got maybe (");
    expect_fails("localize m.tif -o o.csv --follow=1e308", 2, "--follow takes no value, and got 1e308");
    expect_fails("localize m.tif -o o.csv --follow --follow-timeout nan", 2, "--follow-timeout must be a number");
    expect_fails("localize m.tif -o o.csv --overwrite=-3", 2, "--overwrite takes no value, and got -3");
    expect_fails("render l.hdf5 -o d.png --quiet=0", 2, "takes no value, and got 0");
    expect_fails("render l.hdf5 -o p.png --zoom", 2, "--zoom needs a value: a number (");
    expect_fails("render l.hdf5 -o p.png --zoom 3 --picture-pixel 3nm", 2, "--zoom exclude each other: give one");
    expect_fails("render l.hdf5 -o p.png --mode box", 2, "--mode box: expected gaussian or histogram (");
    expect_fails("localize m.tif --backend tpu", 2, "--backend tpu: expected auto, cpu, gpu or prefer-gpu (");
    expect_fails("simulate -o s.tif --frames 0", 2, "--frames 0: expected a whole number from 1 to 4294967295 (");
    for (const std::string command : {"simulate -o s.tif", "resolution l.hdf5", "bench sharing --simulate"})
        for (const std::string seed : {"-1", "1.5", "18446744073709551616"})
            expect_fails(command + " --seed " + seed, 2,
                         "--seed " + seed + ": expected a whole number from 0 to 18446744073709551615 (");
}

TEST_F(CommandLine, flags_that_would_change_nothing_are_refused) {
    expect_fails("render l.hdf5 -o p.png --z-range 0:5", 2, "--z-range changes nothing without --color-z (");
    expect_fails("render l.hdf5 -o p.png --no-scale-bar --scale-bar 1um", 2, "exclude each other");
    expect_fails("render l.hdf5 -o p.tif --colormap gray", 2, "--colormap changes nothing in a .tif");
    expect_fails("render l.hdf5 -o p.tif --scale-bar 1um", 2, "--scale-bar changes nothing in a .tif");
    expect_fails("render l.hdf5 -o p.tif --saturate 2", 2, "--saturate changes nothing in a .tif");
    expect_fails("render l.hdf5 m.hdf5 -o p.png --colormap gray", 2, "--colormap changes nothing if each table");
    expect_fails("render l.hdf5 -o p.png --mode histogram --min-blur 2", 2,
                 "--min-blur changes nothing in a histogram");
    expect_fails("resolution l.hdf5 --block-frames 99", 2, "--block-frames changes nothing with --split blinks");
    expect_fails("resolution l.hdf5 --split blocks --link-radius 9nm", 2,
                 "--link-radius changes nothing with --split blocks");
    expect_fails("resolution l.hdf5 --split blocks --dark-frames 7", 2,
                 "--dark-frames changes nothing with --split blocks");
    expect_fails("localize m.tif -o o.hdf5 --follow-timeout 5", 2,
                 "--follow-timeout changes nothing without --follow (");
    const std::string localize = "localize m.tif -o o.hdf5 --emitters ";
    expect_fails(localize + "1 --psf-misfit 0.1", 2, "--psf-misfit changes nothing with --emitters 1");
    expect_fails(localize + "auto --neighbors 1", 2, "--neighbors changes nothing with --emitters auto");
    expect_fails("localize m.tif -o o.png --preview 0 --resume", 2, "--resume changes nothing with --preview");
    expect_fails("localize m.tif -o o.png --preview 0 --summary s.csv", 2, "--summary changes nothing with --preview");
}

TEST_F(CommandLine, an_empty_value_is_no_value) {
    expect_fails("inspect m.tif --gain ''", 2, "--gain has an empty value: give one, or leave the flag out");
    expect_fails("run m.tif -o ''", 2, "--output has an empty value");
    expect_fails("fit r.npy -o o.hdf5 --sigma 130nm --gpu-worker ''", 2, "--gpu-worker has an empty value");
    expect_fails("localize m.tif -o o.hdf5 --sigma 130nm --gpu-worker on", 2, "--gpu-worker");
    expect_fails("calibrate camera --dark d.tif -o ''", 2, "--output has an empty value");
}

TEST_F(CommandLine, a_simulation_of_nothing_is_refused_and_saturation_told) {
    expect_fails("simulate -o s.tif --blinks 0", 2, "--blinks 0: give more than 0, or leave it out");
    expect_fails("simulate -o s.tif --offset 65535", 2, "the background of 65545 ADU (--offset 65535");
    expect_fails("simulate -o s.tif --offset -11", 2, "the background of -1 ADU");
    EXPECT_FALSE(exists("s.tif"));
    const Ended told = glint("simulate -o s.tif --frames 3 --size 32 --offset 65525 --background 10 -q --seed 1");
    EXPECT_EQ(told.exit_code, 2) << "10 above 65525 is the end\n" << told.err;
    // Some 8 % of Poisson counts of mean 10 above 65520 reach 65535.
    const Ended some = glint("simulate -o s.tif --frames 3 --size 32 --offset 65520 --spots 0 -q --seed 1");
    EXPECT_EQ(some.exit_code, 0);
    EXPECT_NE(some.err.find("% of the pixels are saturated, at 65535"), some.err.npos) << some.err;
    EXPECT_EQ(glint("simulate -o t.tif --frames 3 --size 32 -q").err, "");
}

TEST_F(CommandLine, help_is_a_command_too) {
    EXPECT_EQ(glint("help").out, glint("--help").out);
    for (const std::string command : {"localize", "calibrate astigmatism", "bench fit"}) {
        const Ended help = glint("help " + command);
        EXPECT_EQ(help.exit_code, 0);
        EXPECT_EQ(help.out, glint(command + " --help").out);
        EXPECT_NE(help.out.find("Usage: glint " + command), std::string::npos) << help.out;
    }
}

TEST_F(CommandLine, wrong_options_exit_with_2) {
    make_movie("m.tif");
    expect_fails("localize m.tif -o o.hdf5 --sigma 130nm --pixel-size 100nm --offset 100 --gain 0", 2, "gain 0");
    expect_fails("localize m.tif -o o.hdf5 --sigma 130nm --pixel-size 100nm --offset 100 --gain -1", 2, "gain -1");
    expect_fails("localize m.tif -o o.hdf5 --sigma 130 --pixel-size 100nm --offset 100 --gain 1", 2, "unit");
    expect_fails("localize m.tif -o o.hdf5 --roi 99" + given, 2, "--roi");
    expect_fails("localize m.tif -o o.hdf5 --frames 30:90" + given, 2, "40 frames");
    expect_fails("localize m.tif -o o.xyz" + given, 2, "o.xyz");
    expect_fails("localize m.tif -o o.hdf5 --backend tpu" + given, 2, "--backend");
    expect_fails("localize m.tif -o o.hdf5 --auto-timeout 5days" + given, 2, "--auto-timeout 5days");
    expect_fails("localize m.tif -o o.hdf5 --psf AstigmaticXYZNB" + camera, 2, "--calibration");
    expect_fails("localize m.tif -o o.hdf5 --speed 9" + given, 2, "--speed");
    expect_fails("dance", 2, "dance");
    make_movie("small.tif", 5, 8);
    expect_fails("localize small.tif -o o.hdf5 --roi 9" + given, 2, "8x8");
}

TEST_F(CommandLine, variables_say_what_flags_leave_open) {
    make_movie("m.tif", 4);
    const auto localize = [&](const std::string& variables, const std::string& flags = "") {
        return run(folder_, "export GLINT_GPU_ENABLED=0 " + variables + "; exec glint localize m.tif -o o.hdf5 " +
                                "--overwrite --json -q" + given + flags);
    };
    const Ended three = localize("GLINT_THREADS=3 GLINT_BACKEND=cpu");
    EXPECT_EQ(three.exit_code, 0) << three.err;
    EXPECT_EQ(nlohmann::json::parse(three.out)["fit"]["threads"], 3);
    EXPECT_EQ(nlohmann::json::parse(localize("GLINT_THREADS=3", " --threads 2").out)["fit"]["threads"], 2);
    const Ended strict = localize("GLINT_BACKEND=gpu");
    EXPECT_EQ(strict.exit_code, 5) << strict.err;
    EXPECT_NE(strict.err.find("unset"), std::string::npos) << strict.err;
    EXPECT_EQ(localize("GLINT_BACKEND=gpu", " --backend cpu").exit_code, 0);
    const Ended wrong = localize("GLINT_BACKEND=abacus");
    EXPECT_EQ(wrong.exit_code, 2);
    EXPECT_NE(wrong.err.find("GLINT_BACKEND=abacus: expected auto, cpu, gpu (also cuda) or prefer-gpu"),
              std::string::npos)
        << wrong.err;
    for (const char* one :
         {"GLINT_THREADS=some", "GLINT_GPU_MEMORY_LIMIT=1XB", "GLINT_GPU_EARLY_RECLAIM=2", "GLINT_LEASE_DIR=relative",
          "GLINT_LEASES_PER_USER=-1", "GLINT_GPU_QUANTUM=0", "GLINT_GPU_WORKER=maybe", "GLINT_GPU_WORKER_IDLE=5s"}) {
        const Ended refused = localize(one);
        EXPECT_EQ(refused.exit_code, 2) << one;
        EXPECT_NE(refused.err.find(one), std::string::npos) << refused.err;
        const Ended doctor = run(folder_, std::string("export ") + one + "; exec glint doctor");
        EXPECT_EQ(doctor.exit_code, 6) << doctor.err;
        EXPECT_NE(doctor.out.find(one), std::string::npos) << doctor.out;
        EXPECT_EQ(run(folder_, std::string("export ") + one + "; exec glint --help").exit_code, 0) << one;
    }
}

TEST_F(CommandLine, bad_input_exits_with_3) {
    expect_fails("localize nowhere.tif -o o.hdf5" + given, 3, "nowhere.tif");
    folder_.write("poem.tif", "the fog comes on little cat feet");
    expect_fails("localize poem.tif -o o.hdf5" + given, 3, "poem.tif");
    folder_.write("locs.hdf5", "no HDF5 either");
    expect_fails("render locs.hdf5 -o p.png", 3, "locs.hdf5");
    EXPECT_FALSE(exists("p.png"));
}

TEST_F(CommandLine, errors_as_json) {
    const Ended end = glint("localize nowhere.tif -o o.hdf5 --json" + given);
    EXPECT_EQ(end.exit_code, 3);
    const auto error = nlohmann::json::parse(end.out)["error"];
    EXPECT_EQ(error["kind"], "input");
    EXPECT_EQ(error["exit_code"], 3);
    EXPECT_NE(error["message"].get<std::string>().find("nowhere.tif"), std::string::npos);
}

TEST_F(CommandLine, a_movie_is_no_stack_of_rois) {
    make_movie("m.tif");
    expect_fails("fit m.tif -o o.hdf5" + given, 3, "glint localize");
}

TEST_F(CommandLine, commands_stand_in_groups_a_line_each) {
    const std::string help = glint("--help").out;
    std::size_t last = 0;
    for (const std::string place : {"Movies to localizations:", "localize ", "simulate ",
                                    "Localizations and pictures:", "render ", "GPUs:", "lease ", "Other:", "bench "}) {
        const std::size_t at = help.find((place.back() == ':' ? "\n" : "\n  ") + place, last);
        ASSERT_NE(at, help.npos) << place << help;
        last = at;
    }
    EXPECT_EQ(help.find("\n      "), help.find("\n            5 no GPU")) << "no description goes on in another line";
}

TEST_F(CommandLine, every_help_has_an_example) {
    const Ended top = glint("--help");
    EXPECT_EQ(top.exit_code, 0);
    EXPECT_NE(top.out.find("130"), std::string::npos) << "exit codes";
    for (const std::string command : {"localize", "inspect", "fit", "render", "simulate", "filter", "score",
                                      "resolution", "cluster", "calibrate astigmatism"}) {
        const Ended help = glint(command + " --help");
        EXPECT_EQ(help.exit_code, 0);
        EXPECT_NE(help.out.find("Example"), std::string::npos) << command;
        EXPECT_NE(help.out.find("glint " + command + " "), std::string::npos) << command;
    }
}

TEST_F(CommandLine, a_movie_is_simulated_into_a_tiff_alone) {
    expect_fails("simulate -o s.csv --frames 2", 2, "a name that ends in .tif");
    const Ended done = glint("simulate -o s.TIF --frames 2 --size 24");
    EXPECT_EQ(done.exit_code, 0);
    EXPECT_EQ(done.err.find("localizations"), done.err.npos) << "progress counts frames: " << done.err;
}
