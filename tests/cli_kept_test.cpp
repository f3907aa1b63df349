// Tests that no result is lost however the program ends, and that files are replaced only on request.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "glint/localization_io.hpp"
#include "tests/command_line.hpp"
#include "tests/hold.hpp"

using namespace glint;
using namespace glint::test;

TEST_F(CommandLine, output_that_cannot_be_written_exits_with_4) {
    make_movie("m.tif");
    expect_fails("localize m.tif -o nowhere/o.hdf5 -q" + given, 4, "nowhere");
    folder_.write("file", "");
    expect_fails("localize m.tif -o file/o.hdf5 -q" + given, 4, "file");
    expect_fails("localize m.tif -o /proc/o.hdf5 -q" + given, 4, "/proc");
    EXPECT_EQ(folder_.names(), (std::vector<std::string>{".err", ".out", "file", "m.tif"}));
}

// Whichever file cannot be opened, the error does not blame the input.
TEST_F(CommandLine, too_few_descriptors_exit_with_4) {
    make_movie("m.tif");
    ASSERT_EQ(run(folder_, "exec glint localize m.tif -o locs.hdf5 -q" + given).exit_code, 0);
    const std::string threads = " --threads 2 -q";
#ifdef __SANITIZE_ADDRESS__  // UBSan needs a descriptor to check types: without one it reports a wrong type
    constexpr int least = 12;
#else
    constexpr int least = 4;
#endif
    int enough = 0;
    for (int limit = least; limit < 24; ++limit) {
        const std::string with = fmt::format("ulimit -n {}; exec glint ", limit);
        const Ended end = run(folder_, with + "localize m.tif -o o.hdf5 --overwrite" + given + threads);
        if (end.err.find("shared libraries") != end.err.npos) continue;  // an error of the loader
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
    EXPECT_NE(again.err.find("already finished"), std::string::npos);
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

/// Returns true if the process that wrote its number into this file catches signals. Checks SIGHUP, which a shell does
/// not catch, and for which glint sets the last handler.
static bool catches_signals(const std::filesystem::path& number_file) {
    std::string number, word;
    if (!(std::ifstream(number_file) >> number)) return false;
    std::ifstream status("/proc/" + number + "/status");
    while (status >> word)
        if (word == "SigCgt:" && status >> word) return std::stoull(word, nullptr, 16) >> (SIGHUP - 1) & 1;
    return false;
}

// Drawing the molecules of so many frames takes a long time.
TEST_F(CommandLine, a_simulation_is_stopped_before_its_first_frame_too) {
    for (int signal : {SIGINT, SIGTERM}) {
        Program program(folder_,
                        "echo $$ >number; exec glint simulate -o s.tif --size 1 --spots 0.001 --frames 1000000000");
        become(program, [&] { return catches_signals(folder_ / "number"); });
        program.signal(signal);
        const Ended end = program.ended();
        EXPECT_EQ(end.exit_code, 130) << end.err;
        EXPECT_NE(end.err.find("stopped: the movie was not simulated"), std::string::npos) << end.err;
        EXPECT_FALSE(exists("s.tif") || exists("s_truth.csv"));
        std::filesystem::remove(folder_ / "number");
    }
}

// A file size limit simulates a full disk: in both cases the write fails in the middle of a record.
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
    ASSERT_EQ(glint("localize a.tif -o alone" + given).exit_code,
              0);  // as for several movies: a name without an extension is a folder
    EXPECT_TRUE(read_bytes(folder_ / "alone/a.hdf5") == read_bytes(folder_ / "results/a.hdf5"));
    ASSERT_EQ(glint("localize a.tif b.tif -o joined.hdf5 --concat" + given).exit_code, 0);
    const Localizations joined = read_localizations(folder_ / "joined.hdf5");
    EXPECT_EQ(joined.frames, 80);
    EXPECT_EQ(joined.size(), 2 * read_localizations(folder_ / "results/a.hdf5").size());
    EXPECT_GE(joined.frame.back(), 40u);
}

// The same check for a folder whose files in order are a movie.
TEST_F(CommandLine, parts_whose_metadata_contradict_each_other_need_a_value) {
    std::filesystem::create_directory(folder_ / "f");
    for (const std::string nm : {"100", "160"})
        ASSERT_EQ(glint("simulate -o f/s" + nm + ".tif --frames 20 --size 32 -q --pixel-size " + nm + "nm").exit_code,
                  0);
    const std::string rest = " -o o.hdf5 --sigma 1.3px --offset 100 --gain 1";
    for (const std::string movies : {"f/s100.tif f/s160.tif --concat", "f/s160.tif f/s100.tif --concat", "f"}) {
        const Ended end = glint("localize " + movies + rest);
        EXPECT_EQ(end.exit_code, 2) << end.err;
        for (const char* part :
             {"still needed: pixel size", "100 nm in s100.tif", "160 nm in s160.tif", "--pixel-size"})
            EXPECT_NE(end.err.find(part), std::string::npos) << end.err;
        EXPECT_FALSE(exists("o.hdf5"));
        const Ended given_one = glint("localize " + movies + rest + " --overwrite --pixel-size 160nm");
        EXPECT_EQ(given_one.exit_code, 0) << given_one.err;
        EXPECT_EQ(read_localizations(folder_ / "o.hdf5").pixel_size_nm, 160);
        std::filesystem::remove(folder_ / "o.hdf5"), std::filesystem::remove(folder_ / "o.yaml");
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
    expect_fails("convert l.hdf5 -o m.csv --consecutive", 2, "at least two tables");
}

TEST_F(CommandLine, a_csv_is_converted_again_over_what_was_made_of_it) {
    std::ofstream(folder_ / "t.csv") << "frame,x [nm],y [nm]\n1,100,200\n";
    for (const char* again : {"", " --overwrite"}) {
        const Ended end = glint(std::string("convert t.csv -o t.hdf5 --pixel-size 100nm") + again);
        EXPECT_EQ(end.exit_code, 0) << end.err;
    }
}
