// The program itself: exit codes, messages that help, and nothing lost however it ends.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
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
    // 500 photons on background 10 are found by nearly all; what is lost are overlaps of about 1 in 10 spots.
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
    expect_fails("calibrate --hlep", 2, "has no option --hlep: did you mean --help?");
    expect_fails("help dance", 2, "there is no command dance. Commands are: run localize inspect fit");
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
    expect_fails("render l.hdf5 -o p.png --zoom", 2, "--zoom needs a value: a number (");
    expect_fails("render l.hdf5 -o p.png --zoom 3 --picture-pixel 3nm", 2, "--zoom exclude each other: give one");
    expect_fails("render l.hdf5 -o p.png --mode box", 2, "--mode box: expected gaussian or histogram (");
    expect_fails("localize m.tif --backend tpu", 2, "--backend tpu: expected auto, cpu or gpu (");
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
    expect_fails("render l.hdf5 m.hdf5 -o p.png --colormap gray", 2, "--colormap changes nothing where each table");
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

TEST_F(CommandLine, what_a_movie_can_tell_is_said_where_it_is_missing) {
    ASSERT_EQ(glint("simulate -o s.tif --frames 3 --size 32 -q").exit_code, 0);
    expect_fails("localize s.tif -o o.hdf5", 2,
                 "`glint inspect s.tif` estimates them from the movie itself; --offset auto --gain auto --sigma auto");
    expect_fails("localize s.tif -o o.hdf5 --sigma 1.3px --offset 1", 2, "itself; --gain auto uses its estimates");
    const std::string growing = glint("localize s.tif -o o.hdf5 --follow").err;
    EXPECT_EQ(growing.find("auto"), growing.npos) << growing;
}

TEST_F(CommandLine, a_simulation_of_nothing_is_refused_and_saturation_told) {
    expect_fails("simulate -o s.tif --blinks 0", 2, "--blinks 0: give more than 0, or leave it out");
    expect_fails("simulate -o s.tif --offset 65535", 2, "a background at 65545 ADU (--offset 65535");
    expect_fails("simulate -o s.tif --offset -11", 2, "a background at -1 ADU");
    EXPECT_FALSE(exists("s.tif"));
    const Ended told = glint("simulate -o s.tif --frames 3 --size 32 --offset 65525 --background 10 -q --seed 1");
    EXPECT_EQ(told.exit_code, 2) << "10 above 65525 is the end\n" << told.err;
    // Of Poisson counts of mean 10 above 65520 some 8 % reach 65535.
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
    EXPECT_NE(wrong.err.find("GLINT_BACKEND=abacus: expected auto, cpu or gpu"), std::string::npos) << wrong.err;
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

TEST_F(CommandLine, output_that_cannot_be_written_exits_with_4) {
    make_movie("m.tif");
    expect_fails("localize m.tif -o nowhere/o.hdf5 -q" + given, 4, "nowhere");
    folder_.write("file", "");
    expect_fails("localize m.tif -o file/o.hdf5 -q" + given, 4, "file");
    expect_fails("localize m.tif -o /proc/o.hdf5 -q" + given, 4, "/proc");
    EXPECT_EQ(folder_.names(), (std::vector<std::string>{".err", ".out", "file", "m.tif"}));
}

// Whichever file it is that cannot be opened: nothing is wrong with the input.
TEST_F(CommandLine, too_few_descriptors_exit_with_4) {
    make_movie("m.tif");
    ASSERT_EQ(run(folder_, "exec glint localize m.tif -o locs.hdf5 -q" + given).exit_code, 0);
    const std::string threads = " --threads 2 -q";
#ifdef __SANITIZE_ADDRESS__  // UBSan looks at types through descriptors of its own: without one it reports a wrong type
    constexpr int least = 12;
#else
    constexpr int least = 4;
#endif
    int enough = 0;
    for (int limit = least; limit < 24; ++limit) {
        const std::string with = fmt::format("ulimit -n {}; exec glint ", limit);
        const Ended end = run(folder_, with + "localize m.tif -o o.hdf5 --overwrite" + given + threads);
        if (end.err.find("shared libraries") != end.err.npos) continue;  // the loader's
        EXPECT_TRUE(end.exit_code == 0 || end.exit_code == 4) << limit << ": " << end.exit_code << " " << end.err;
        EXPECT_EQ(end.exit_code == 4, end.err.find("raise the limit of open files (ulimit -n)") != end.err.npos)
            << end.err;
        enough += end.exit_code == 0;
        const Ended drawn = run(folder_, with + "render locs.hdf5 -o p.png --overwrite -q");
        EXPECT_TRUE(drawn.exit_code == 0 || drawn.exit_code == 4)
            << limit << ": " << drawn.exit_code << " " << drawn.err;
    }
    EXPECT_GT(enough, 0);
    EXPECT_LT(enough, 20);
}

TEST_F(CommandLine, existing_output_is_kept_unless_asked) {
    make_movie("m.tif");
    folder_.write("o.hdf5", "precious");
    expect_fails("localize m.tif -o o.hdf5" + given, 2, "--overwrite");
    EXPECT_EQ(read_bytes(folder_ / "o.hdf5"), "precious");
    EXPECT_EQ(glint("localize m.tif -o o.hdf5 --overwrite" + given).exit_code, 0);
    EXPECT_NE(read_bytes(folder_ / "o.hdf5"), "precious");
}

TEST_F(CommandLine, errors_as_json) {
    const Ended end = glint("localize nowhere.tif -o o.hdf5 --json" + given);
    EXPECT_EQ(end.exit_code, 3);
    const auto error = nlohmann::json::parse(end.out)["error"];
    EXPECT_EQ(error["kind"], "input");
    EXPECT_EQ(error["exit_code"], 3);
    EXPECT_NE(error["message"].get<std::string>().find("nowhere.tif"), std::string::npos);
}

TEST_F(CommandLine, killed_half_way_it_resumes_to_the_same_bytes) {
    make_movie("m.tif", 3000);
    ASSERT_EQ(glint("localize m.tif -o whole.hdf5 -q" + given).exit_code, 0);
    const Ended killed = stop_after(2, SIGKILL, folder_, "glint localize m.tif -o o.hdf5 --threads 2 -q" + given);
    ASSERT_EQ(killed.exit_code, 128 + SIGKILL);
    EXPECT_FALSE(exists("o.hdf5"));
    expect_fails("localize m.tif -o o.hdf5 -q" + given, 2, "--resume");
    expect_fails("localize m.tif -o o.hdf5 -q --resume --threshold 7" + given, 2, "threshold");
    const Ended resumed = glint("localize m.tif -o o.hdf5 --resume --json" + given);
    ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
    EXPECT_GT(nlohmann::json::parse(resumed.out)["resumed_frames"], 0);
    EXPECT_TRUE(read_bytes(folder_ / "o.hdf5") == read_bytes(folder_ / "whole.hdf5"));
    EXPECT_TRUE(read_bytes(folder_ / "o.yaml") == read_bytes(folder_ / "whole.yaml"));
    EXPECT_FALSE(exists("o.hdf5.journal"));
    const Ended again = glint("localize m.tif -o o.hdf5 --resume" + given);
    EXPECT_EQ(again.exit_code, 0);
    EXPECT_NE(again.err.find("finished already"), std::string::npos);
}

TEST_F(CommandLine, continuations_count_once) {
    make_movie("a_MMStack.tif", 40);
    make_movie("a_MMStack_1.tif", 40);
    make_movie("b.tif", 40);
    const auto frames = [&](const std::string& movies, const std::string& out) {
        const Ended end = glint("localize " + movies + " --json -o " + out + given);
        EXPECT_EQ(end.exit_code, 0) << end.err;
        return std::pair(nlohmann::json::parse(end.out), end.err);
    };
    EXPECT_EQ(frames("a_MMStack_1.tif a_MMStack.tif --concat", "locs.hdf5").first["frames"], 80);
    const auto [batch, notices] = frames("a_MMStack.tif a_MMStack_1.tif b.tif", "results/");
    ASSERT_EQ(batch.size(), 2u);
    EXPECT_EQ(batch[0]["frames"], 80);
    EXPECT_EQ(batch[1]["frames"], 40);
    EXPECT_NE(notices.find("a_MMStack_1.tif continues another of the movies"), std::string::npos) << notices;
    expect_fails("localize b.tif ./b.tif --concat -o c.hdf5" + given, 2, "given twice");
}

TEST_F(CommandLine, interrupted_it_keeps_what_is_finished) {
    make_movie("m.tif", 3000);
    ASSERT_EQ(glint("localize m.tif -o whole.csv -q" + given).exit_code, 0);
    for (int signal : {SIGINT, SIGTERM}) {
        const Ended end = stop_after(2, signal, folder_, "glint localize m.tif -o o.csv --threads 2" + given);
        ASSERT_EQ(end.exit_code, 130) << end.err;
        EXPECT_NE(end.err.find("--resume"), std::string::npos);
        EXPECT_FALSE(exists("o.csv"));
        EXPECT_GT(read_localizations(folder_ / "o.partial.csv", {}, 100).size(), 0u);
        ASSERT_EQ(glint("localize m.tif -o o.csv -q --resume" + given).exit_code, 0);
        EXPECT_TRUE(read_bytes(folder_ / "o.csv") == read_bytes(folder_ / "whole.csv"));
        EXPECT_FALSE(exists("o.partial.csv"));
        std::filesystem::remove(folder_ / "o.csv");
    }
}

// A file size limit stands for a full disk: both fail the write half-way through a record.
TEST_F(CommandLine, a_full_disk_loses_nothing) {
    make_movie("m.tif", 1000);
    ASSERT_EQ(glint("localize m.tif -o whole.hdf5 -q" + given).exit_code, 0);
    const Ended full = run(folder_, "ulimit -f 200; exec glint localize m.tif -o o.hdf5 -q" + given);
    EXPECT_EQ(full.exit_code, 4) << full.err;
    EXPECT_NE(full.err.find("--resume"), std::string::npos) << full.err;
    EXPECT_FALSE(exists("o.hdf5"));
    ASSERT_TRUE(exists("o.hdf5.journal"));
    const Ended resumed = glint("localize m.tif -o o.hdf5 --resume --json" + given);
    ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
    EXPECT_GT(nlohmann::json::parse(resumed.out)["resumed_frames"], 0);
    EXPECT_TRUE(read_bytes(folder_ / "o.hdf5") == read_bytes(folder_ / "whole.hdf5"));
}

TEST_F(CommandLine, several_movies_go_into_a_folder_or_are_joined) {
    make_movie("a.tif");
    make_movie("b.tif");
    expect_fails("localize a.tif b.tif -o o.hdf5" + given, 2, "--concat");
    const Ended both = glint("localize a.tif b.tif -o results --json" + given);
    ASSERT_EQ(both.exit_code, 0) << both.err;
    EXPECT_EQ(nlohmann::json::parse(both.out).size(), 2u);
    EXPECT_TRUE(exists("results/a.hdf5") && exists("results/b.hdf5"));
    ASSERT_EQ(glint("localize a.tif -o alone" + given).exit_code, 0);  // as for several: no ending, a folder
    EXPECT_TRUE(read_bytes(folder_ / "alone/a.hdf5") == read_bytes(folder_ / "results/a.hdf5"));
    ASSERT_EQ(glint("localize a.tif b.tif -o joined.hdf5 --concat" + given).exit_code, 0);
    const Localizations joined = read_localizations(folder_ / "joined.hdf5");
    EXPECT_EQ(joined.frames, 80);
    EXPECT_EQ(joined.size(), 2 * read_localizations(folder_ / "results/a.hdf5").size());
    EXPECT_GE(joined.frame.back(), 40u);
}

TEST_F(CommandLine, commands_to_go_on_with_have_the_flags_that_were_given) {
    const auto localize_after = [&](const std::string& flags) {
        const Ended end = glint("simulate -o m.tif --frames 5 --size 32 --overwrite --json" + flags);
        EXPECT_EQ(end.exit_code, 0) << end.err;
        return nlohmann::json::parse(end.out)["localize"].get<std::string>();
    };
    const std::string usual = " --pixel-size 100nm --offset 100 --gain 1";
    EXPECT_EQ(localize_after(" --psf GaussianXYNB"), "glint localize m.tif -o locs.hdf5 --sigma 130nm" + usual);
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

TEST_F(CommandLine, tables_are_converted_and_merged) {
    make_movie("m.tif");
    ASSERT_EQ(glint("localize m.tif -o l.hdf5 -q" + given).exit_code, 0);
    ASSERT_EQ(glint("convert l.hdf5 -o l.smlm.h5").exit_code, 0);
    ASSERT_EQ(glint("convert l.smlm.h5 -o back.HDF5").exit_code, 0);
    const Localizations before = read_localizations(folder_ / "l.hdf5"),
                        after = read_localizations(folder_ / "back.HDF5");
    EXPECT_EQ(before.frame, after.frame);
    for (std::size_t k = 0; k < before.size(); ++k) ASSERT_NEAR(before.x_px[k], after.x_px[k], 1e-3);
    ASSERT_EQ(glint("convert l.hdf5 back.HDF5 -o both.csv --consecutive").exit_code, 0);
    const Localizations both = read_localizations(folder_ / "both.csv", {}, 100);
    EXPECT_EQ(both.size(), 2 * before.size());
    EXPECT_EQ(both.frame.back(), before.frame.back() + 40) << "frames of the second movie count on";
    ASSERT_EQ(glint("convert l.hdf5 -o csv_alone.csv").exit_code, 0);
    const Ended beside = glint("convert csv_alone.csv -o csv_alone.hdf5 --pixel-size 100nm");
    EXPECT_EQ(beside.exit_code, 0) << "the table has no .yaml that would be written over\n" << beside.err;
    expect_fails("convert l.hdf5 -o l.hdf5 --overwrite", 2, "itself");
    expect_fails("convert l.hdf5 -o l.txt", 2, ".csv");
    expect_fails("convert l.hdf5 -o m.csv --consecutive", 2, "several");
}

TEST_F(CommandLine, a_movie_is_simulated_into_a_tiff_alone) {
    expect_fails("simulate -o s.csv --frames 2", 2, "a name that ends in .tif");
    const Ended done = glint("simulate -o s.TIF --frames 2 --size 24");
    EXPECT_EQ(done.exit_code, 0);
    EXPECT_EQ(done.err.find("localizations"), done.err.npos) << "progress counts frames: " << done.err;
}

// Pasted into a shell, whatever the movie is called.
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

TEST_F(CommandLine, a_csv_is_converted_again_over_what_was_made_of_it) {
    std::ofstream(folder_ / "t.csv") << "frame,x [nm],y [nm]\n1,100,200\n";
    for (const char* again : {"", " --overwrite"}) {
        const Ended end = glint(std::string("convert t.csv -o t.hdf5 --pixel-size 100nm") + again);
        EXPECT_EQ(end.exit_code, 0) << end.err;
    }
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
    expect_fails("calibrate camera --dark dark.tif --light light.tif --gain 1 -o c.toml", 2, "give one of them");
    expect_fails("calibrate camera --dark light.tif --light dark.tif -o c.toml", 3, "not brighter than the dark");
    EXPECT_FALSE(exists("c.toml") || exists("c_maps.hdf5"));
    const Ended only_dark = glint("calibrate camera --dark dark.tif -o dark.toml -q");
    EXPECT_EQ(only_dark.exit_code, 0) << only_dark.err;
    EXPECT_EQ(glint("localize light.tif -o l2.hdf5 --sigma 130nm --camera dark.toml --pixel-size 100nm --gain 0.5 -q")
                  .exit_code,
              0);
}
