// Tests `glint localize --follow` and `--stdin` as a user runs them.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "glint/localization_io.hpp"
#include "tests/command_line.hpp"
#include "tests/tiff_pages.hpp"

namespace glint::test {
namespace {

class FollowCommand : public CommandLine {
  protected:
    /// Writes a file of 40 frames of 48x48 px without a header.
    void make_raw() {
        make_movie("m.tif");
        FrameBlock block;
        open_movie(folder_ / "m.tif")->read(0, 40, block);
        folder_.write("m.bin",
                      std::string(reinterpret_cast<const char*>(block.bytes.data()), 40 * block.frame_bytes()));
    }
    static std::vector<nlohmann::json> lines(const std::string& out) {
        std::vector<nlohmann::json> all;
        std::istringstream text(out);
        for (std::string line; std::getline(text, line);) all.push_back(nlohmann::json::parse(line));
        return all;
    }
};

TEST_F(FollowCommand, writes_lines_of_json_and_the_file_of_the_whole_movie) {
    make_movie("m.tif");
    const Ended end = glint("localize m.tif -o f.csv --follow --follow-timeout 2" + given);
    ASSERT_EQ(end.exit_code, 0) << end.err;
    const auto told = lines(end.out);
    ASSERT_GE(told.size(), 2u);
    for (const char* key : {"frame", "frames_there", "lag_s", "localizations", "spots_per_frame", "density_per_um2",
                            "precision_nm", "photons", "background", "noise_check"})
        EXPECT_TRUE(told.front().contains(key)) << key;
    EXPECT_EQ(told.back().at("complete"), true);
    EXPECT_EQ(told.back().at("frames"), 40);
    const Ended one = glint("localize m.tif -o whole.csv -q" + given);
    ASSERT_EQ(one.exit_code, 0) << one.err;
    EXPECT_EQ(read_bytes(folder_ / "f.csv"), read_bytes(folder_ / "whole.csv"));
    EXPECT_EQ(told.back().at("once_more"), true) << "the whole movie's own misfit is learnt";
    EXPECT_NE(end.err.find("m.tif: has ended; its frames are localized once more"), std::string::npos) << end.err;
}

TEST_F(FollowCommand, frames_from_a_pipe_are_those_of_the_file) {
    make_raw();
    const Ended piped = run(folder_, "exec glint localize --stdin 48x48 uint16 -o p.csv" + given + " < m.bin");
    ASSERT_EQ(piped.exit_code, 0) << piped.err;
    EXPECT_EQ(lines(piped.out).back().at("frames"), 40);
    EXPECT_NE(piped.err.find("stdin: the PSF misfit has its default value 0.05, since a pipe cannot be read twice"),
              std::string::npos);
    const Ended followed = glint("localize m.tif -o f.csv --follow --follow-timeout 1 --psf-misfit 0.05" + given);
    ASSERT_EQ(followed.exit_code, 0) << followed.err;
    EXPECT_EQ(lines(followed.out).back().at("once_more"), false);
    EXPECT_EQ(read_bytes(folder_ / "p.csv"), read_bytes(folder_ / "f.csv"));
}

// The frame size given by the user can be too large: memory is allocated only for data that arrives.
TEST_F(FollowCommand, a_pipe_that_gives_nothing_takes_no_memory_for_its_frames) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "sanitizers take the address space";
#endif
    const std::string limited = "ulimit -v 3000000; exec glint localize --stdin 65535x65535 uint16 -o p.csv" + given;
    const Ended none = run(folder_, limited + " < /dev/null");
    EXPECT_EQ(none.exit_code, 3) << none.err;
    EXPECT_NE(none.err.find("stdin: has no frames"), std::string::npos) << none.err;
    folder_.write("little", std::string(100'000, 'x'));
    const Ended little = run(folder_, limited + " < little");
    EXPECT_EQ(little.exit_code, 3) << little.err;
    EXPECT_NE(little.err.find("frame 1 is truncated (expected 8589672450 bytes, found 100000)"), std::string::npos)
        << little.err;
    const Ended endless = run(folder_, limited + " --json < /dev/zero");
    EXPECT_EQ(endless.exit_code, 7) << endless.err;
    EXPECT_NE(endless.err.find("glint: not enough memory: work on less"), std::string::npos) << endless.err;
    EXPECT_NE(endless.out.find("\"kind\": \"memory\""), std::string::npos) << endless.out;
}

TEST_F(FollowCommand, stopped_before_any_frame_it_does_not_say_that_something_is_kept) {
    Program program(folder_,
                    "mkfifo f; sleep 60 > f & exec glint localize --stdin 48x48 uint16 -o p.csv" + given + " < f");
    while (program.running() && read_bytes(folder_ / ".err").find("being written") == std::string::npos)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    program.signal(SIGINT);
    const Ended end = program.ended();
    EXPECT_EQ(end.exit_code, 130) << end.err;
    EXPECT_NE(end.err.find("glint: stopped before any frame of stdin was finished"), std::string::npos) << end.err;
    EXPECT_EQ(end.err.find("kept"), std::string::npos) << end.err;
}

TEST_F(FollowCommand, frames_of_another_size_are_the_error_that_they_are_without_and_those_before_are_kept) {
    const TiffPageOptions usual{.width = 48, .height = 48}, other{.width = 48, .height = 32};
    write_tiff(folder_ / "m.tif", std::vector{usual, usual, usual, usual, other});
    const std::string alike = "m.tif: page 5 is 48x32 pixels";
    expect_fails("localize m.tif -o whole.csv" + given, 3, alike);
    const Ended end = glint("localize m.tif -o f.csv --follow --follow-timeout 1" + given);
    EXPECT_EQ(end.exit_code, 3);
    EXPECT_NE(end.err.find(alike), std::string::npos) << end.err;
    EXPECT_NE(end.err.find("; the 4 frames finished are kept in "), std::string::npos) << end.err;
    EXPECT_FALSE(exists("f.csv"));
    EXPECT_TRUE(exists("f.partial.csv"));
}

TEST_F(FollowCommand, no_gpu_is_considered_unless_it_is_asked_for) {
    make_movie("m.tif");
    const std::string follow = "localize m.tif -o f.csv --overwrite --follow --follow-timeout 1 --explain" + given;
    const Ended by_default = glint(follow);
    EXPECT_EQ(by_default.exit_code, 0) << by_default.err;
    EXPECT_EQ(by_default.err.find("GPU"), std::string::npos) << by_default.err;
}

TEST_F(FollowCommand, files_that_contradict_the_first_ones_metadata_are_the_error_that_they_are_without) {
    std::filesystem::create_directory(folder_ / "m");
    for (const std::string nm : {"100", "160"})
        ASSERT_EQ(glint("simulate -o " + nm + ".tif --frames 20 --size 32 -q --pixel-size " + nm + "nm").exit_code, 0);
    std::filesystem::rename(folder_ / "100.tif", folder_ / "m/100.tif");
    const std::string values = " --offset 100 --gain 1 --sigma 130nm";
    const std::string follow = "localize m -o f.csv --follow --follow-timeout 2 --psf-misfit 0.05" + values;
    Program program(folder_, "exec glint " + follow);
    while (program.running() && read_bytes(folder_ / ".err").find("being written") == std::string::npos)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    std::filesystem::rename(folder_ / "160.tif", folder_ / "m/160.tif");
    const Ended end = program.ended();
    EXPECT_EQ(end.exit_code, 2);
    const std::string said = "the metadata say 100 nm in 100.tif and 160 nm in 160.tif";
    for (const std::string& part : {said, std::string("--pixel-size"), std::string("frames finished are kept in ")})
        EXPECT_NE(end.err.find(part), std::string::npos) << end.err;
    EXPECT_FALSE(exists("f.csv"));
    expect_fails("localize m -o whole.csv" + values, 2, said);
    const Ended given_one = glint(follow + " --resume --pixel-size 100nm");
    EXPECT_EQ(given_one.exit_code, 0) << given_one.err;
    EXPECT_TRUE(exists("f.csv"));
}

TEST_F(FollowCommand, a_dash_in_place_of_a_movie_is_told_of_stdin) {
    expect_fails("localize - -o f.csv" + given, 2, "as in --stdin 512x512 uint16");
}

TEST_F(FollowCommand, what_does_not_go_with_a_growing_movie_is_refused) {
    make_movie("m.tif");
    expect_fails("localize m.tif -o f.csv --follow --frames 0:10" + given, 2,
                 "--frames cannot be combined with --follow");
    expect_fails("localize m.tif -o f.png --follow --preview 0" + given, 2,
                 "--preview cannot be combined with --follow");
    expect_fails("localize m.tif m.tif -o f --follow" + given, 2, "a second movie");
    expect_fails("localize m.tif --stdin 48x48 uint16 -o f.csv" + given, 2, "leave out m.tif");
    expect_fails("localize --stdin 48x48 uint16 -o f.csv --resume" + given, 2,
                 "--resume cannot be combined with --stdin");
    expect_fails("localize --stdin 48 uint16 -o f.csv < /dev/null" + given, 2, "width x height");
    expect_fails("localize --stdin 48x48 int16 -o f.csv < /dev/null" + given, 2, "uint8, uint16 or float32");
    expect_fails("localize --stdin 48x48 uint16 -o f.csv < /dev/null" + given, 3, "stdin: has no frames");
    expect_fails("localize none.tif -o f.csv --follow --follow-timeout 1" + given, 3, "(waited 1 s for it)");
    EXPECT_FALSE(exists("f.csv"));
}

}  // namespace
}  // namespace glint::test
