// The program in a broken environment: streams that are full, closed or gone, missing folders, a closed terminal, a
// system that starts no more threads.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/hold.hpp"
#include "tests/thorough.hpp"

using namespace glint::test;

namespace {

namespace fs = std::filesystem;

const std::string given = " --sigma 130nm --pixel-size 100nm --offset 100 --gain 1";

class ProcessEnvironment : public ::testing::Test {
  protected:
    static void SetUpTestSuite() {
        shared_ = std::make_unique<TemporaryFolder>();
        const Ended made = run(*shared_,
                               "glint simulate -o m.tif --size 64 --frames 200 --spots 5 --seed 5 -q && "
                               "glint localize m.tif -o whole.csv -q --threads 2" +
                                   given);
        ASSERT_EQ(made.exit_code, 0) << made.err;
        whole_ = read_bytes(*shared_ / "whole.csv");
    }
    static void TearDownTestSuite() { shared_.reset(); }

    static std::string movie(const std::string& name = "m.tif") { return (*shared_ / name).string(); }
    static std::string localize(const std::string& out = "o.csv", const std::string& flags = "") {
        return "glint localize " + movie() + " -o " + out + " --overwrite --threads 2" + flags + given;
    }
    std::string bytes(const std::string& name) const { return read_bytes(folder_ / name); }

    static std::unique_ptr<TemporaryFolder> shared_;
    static std::string whole_;
    TemporaryFolder folder_;
};

std::unique_ptr<TemporaryFolder> ProcessEnvironment::shared_;
std::string ProcessEnvironment::whole_;

}  // namespace

TEST_F(ProcessEnvironment, nobody_has_to_listen_on_stderr) {
    const std::string end_of_reader = "mkfifo p; true <p & exec 3>p; wait; ";  // a pipe without a reader
    for (const std::string how : {"2>/dev/full", "2>&-", "2>&3"}) {
        const Ended end = run(folder_, end_of_reader + localize() + " " + how + "; code=$?; rm -f p; exit $code");
        EXPECT_EQ(end.exit_code, 0) << how;
        EXPECT_NE(end.out.find("localizations"), std::string::npos) << how;
        EXPECT_TRUE(bytes("o.csv") == whole_) << how;
    }
    EXPECT_EQ(run(folder_, localize("none/o.csv") + " 2>/dev/full").exit_code, 4);
    EXPECT_EQ(run(folder_, "glint dance 2>&-").exit_code, 2);
}

// No file may get the descriptor of a closed stream, because messages would be written into it.
TEST_F(ProcessEnvironment, streams_that_were_closed_spoil_no_file) {
    const Ended end = run(folder_, localize() + " <&- >&- 2>&-");
    EXPECT_EQ(end.exit_code, 4) << "the summary went nowhere";
    EXPECT_TRUE(bytes("o.csv") == whole_);
    EXPECT_EQ(run(folder_, "glint render o.csv -o r.png --pixel-size 100nm --zoom 2 <&- 2>&-").exit_code, 0);
    EXPECT_EQ(bytes("r.png").substr(1, 3), "PNG");
}

TEST_F(ProcessEnvironment, results_that_do_not_arrive_on_stdout_are_exit_code_4) {
    const std::vector<std::string> commands{
        "glint --help",
        "glint --version",
        "glint localize --help",
        "glint devices",
        "glint devices --json",
        "glint doctor",
        "glint doctor --json",
        "glint doctor --guide",
        "glint top --once",
        "glint top --json",
        "glint score " + (*shared_ / "whole.csv").string() + " " + movie("m_truth.csv") + " --pixel-size 100nm",
        "glint bench sharing --simulate small",
        "glint bench sharing --simulate small --json",
        "glint render " + (*shared_ / "whole.csv").string() + " -o r.png --overwrite --pixel-size 100nm",
        "glint simulate -o s.tif --size 16 --frames 2 --overwrite",
        localize(),
        localize("o.csv", " --json"),
        localize("o.png", " --preview 0"),
        "glint bench fit --count 100 --repeats 1 --threads 1 --backend cpu"};
    long cases = 0;
    for (const std::string& command : commands)
        for (const std::string how : {">/dev/full", ">&-"}) {
            if (!has_turn(cases++, 5)) continue;
            const Ended end = run(folder_, command + " " + how);
            EXPECT_EQ(end.exit_code, 4) << command << how << end.err;
            EXPECT_NE(end.err.find("glint: the result could not be written to stdout: "), std::string::npos)
                << command << how << end.err;
            if (command.find("-o o.csv") != std::string::npos) {
                EXPECT_TRUE(bytes("o.csv") == whole_) << command << how;
            }
        }
    EXPECT_EQ(run(folder_, "glint localize nowhere.tif -o new.csv --json" + given + " >/dev/full").exit_code, 3)
        << "the error, not the stream that it was to be told on";
}

// If nobody reads its messages, the program still finishes its work.
TEST_F(ProcessEnvironment, a_pipe_that_is_closed_ends_no_batch) {
    fs::copy_file(movie(), folder_ / "a.tif");
    fs::copy_file(movie(), folder_ / "b.tif");
    const Ended end = run(folder_, "mkfifo p; true <p & exec 3>p; wait; glint localize a.tif b.tif -o results" + given +
                                       " >&3; code=$?; exec 3>&-; exit $code");
    EXPECT_EQ(end.exit_code, 0) << end.err;
    EXPECT_EQ(end.err.find("stdout"), std::string::npos) << "a reader that has seen enough is no error: " << end.err;
    EXPECT_TRUE(fs::exists(folder_ / "results/a.hdf5") && fs::exists(folder_ / "results/b.hdf5"));
}

TEST_F(ProcessEnvironment, folders_that_are_not_there) {
    const std::string everywhere =
        "export TMPDIR=$PWD/none HOME=$PWD/none XDG_CACHE_HOME=/proc/none LANG=xx_YY.none LC_ALL=xx_YY.none; ";
    EXPECT_EQ(run(folder_, everywhere + "glint --version").exit_code, 0);
    EXPECT_EQ(run(folder_, everywhere + localize()).exit_code, 0);
    EXPECT_TRUE(bytes("o.csv") == whole_);
    EXPECT_EQ(run(folder_, "unset HOME XDG_CACHE_HOME TMPDIR; " + localize()).exit_code, 0);
    const std::string nowhere = "here=$PWD; mkdir gone; cd gone; rmdir ../gone; ";
    EXPECT_EQ(run(folder_, nowhere + "glint devices").exit_code, 0);
    EXPECT_EQ(run(folder_, nowhere + localize("$here/o.csv")).exit_code, 0);
    EXPECT_EQ(run(folder_, nowhere + localize("o.csv")).exit_code, 4);
    const Ended bench = run(folder_, "export TMPDIR=$PWD/none; glint bench localize --frames 20");
    EXPECT_EQ(bench.exit_code, 4) << bench.err;
    EXPECT_NE(bench.err.find("--folder"), std::string::npos) << bench.err;
    EXPECT_EQ(run(folder_, "export TMPDIR=$PWD/none; glint bench localize --frames 20 --size 32 --repeats 1 --folder .")
                  .exit_code,
              0);
}

TEST_F(ProcessEnvironment, no_library_comes_from_the_current_folder) {
    const Ended ended = run(folder_, ": > libtiff.so.6; glint --version");
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
}

// A terminal that is closed sends SIGHUP more than once.
TEST_F(ProcessEnvironment, a_closed_terminal_keeps_what_is_finished) {
    const Hold hold(2);
    Program program(folder_, hold.variables() + "exec " + localize());
    ASSERT_TRUE(hold.reached(program)) << program.ended().err;
    program.signal(SIGHUP);
    become(program, [&] { return bytes(".err").find("glint: stopping") != std::string::npos; });
    program.signal(SIGHUP), program.signal(SIGHUP);
    hold.go_on();
    const Ended end = program.ended();
    EXPECT_EQ(end.exit_code, 130) << end.err;
    EXPECT_NE(end.err.find("; finished frames are kept"), std::string::npos) << end.err;
    EXPECT_TRUE(fs::exists(folder_ / "o.partial.csv") && !fs::exists(folder_ / "o.csv"));
    EXPECT_EQ(run(folder_, "glint localize " + movie() + " -o o.csv --resume" + given).exit_code, 0);
    EXPECT_TRUE(bytes("o.csv") == whole_);
}

TEST_F(ProcessEnvironment, what_nohup_has_ignored_stays_ignored) {
    for (const auto& [name, number] : {std::pair{"HUP", SIGHUP}, std::pair{"INT", SIGINT}}) {
        const Hold hold(2);
        Program program(folder_, "trap '' " + std::string(name) + "; " + hold.variables() + "exec " + localize());
        ASSERT_TRUE(hold.reached(program)) << program.ended().err;
        program.signal(number), program.signal(number);
        hold.go_on();
        EXPECT_EQ(program.ended().exit_code, 0) << name;
        EXPECT_TRUE(bytes("o.csv") == whole_);
    }
}

TEST_F(ProcessEnvironment, works_with_a_small_stack) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "code with sanitizers needs more stack";
#endif
    for (const char* threads : {"1", "2"}) {
        const Ended end = run(folder_, "ulimit -s 128; exec glint localize " + movie() +
                                           " -o o.csv --overwrite --threads " + threads + given);
        ASSERT_EQ(end.exit_code, 0) << end.err;
        EXPECT_TRUE(bytes("o.csv") == whole_);
    }
}

// `ulimit -u` does not limit root, so a library preloaded before libpthread limits the number of additional threads.
TEST_F(ProcessEnvironment, works_on_with_as_many_threads_as_can_be_started) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "sanitizers start threads in a way of their own";
#endif
    const std::string library = fs::read_symlink("/proc/self/exe").replace_filename("libfew_threads.so").string();
    for (const int threads : {0, 1, 2, 3, 5, 100}) {
        const std::string few = "export LD_PRELOAD=" + library + " FEW_THREADS=" + std::to_string(threads) + "; exec ";
        const Ended end =
            run(folder_, few + "glint localize " + movie() + " -o o.csv --overwrite --json --threads 6" + given);
        ASSERT_EQ(end.exit_code, 0) << threads << end.err;
        EXPECT_TRUE(bytes("o.csv") == whole_) << threads;
        EXPECT_EQ(nlohmann::json::parse(end.out)["fit"]["threads"], std::clamp(threads - 1, 1, 6));
        EXPECT_EQ(end.err.find("ulimit -u") != std::string::npos, threads < 7) << end.err;
        const std::string others[] = {"glint simulate -o s.tif --size 64 --frames 20 --overwrite",
                                      "glint render o.csv -o r.png --overwrite --pixel-size 100nm --zoom 10",
                                      "glint bench localize --frames 20 --size 32 --repeats 1 --folder . --threads 6",
                                      "glint bench fit --count 5000 --repeats 1 --threads 6 --backend cpu --roi 7"};
        for (const std::string& other : others) {
            const Ended ended = run(folder_, few + other);
            EXPECT_EQ(ended.exit_code, 0) << threads << other << ended.err;
        }
    }
}
