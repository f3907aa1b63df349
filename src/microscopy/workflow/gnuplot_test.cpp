// Programs that fail, are killed, hang, or print without end.
// SPDX-License-Identifier: MIT
#include "workflow/gnuplot.hpp"

#include <gtest/gtest.h>

#include "glint/error.hpp"
#include "tests/temporary_folder.hpp"

using namespace glint;
using namespace glint;
using namespace glint::test;

namespace {

constexpr double long_s = 60;  // no program here runs that long, even on a busy machine

std::string run_script(const std::string& script, double timeout_s, bool stopped = false) {
    const TemporaryFolder folder;
    const StopFlag stop = stopped;
    return run_quietly({"/bin/sh", "-c", script}, folder.path(), timeout_s, stop);
}

TEST(RunQuietly, success_says_nothing) { EXPECT_EQ(run_script("echo much; echo more >&2", long_s), ""); }

TEST(RunQuietly, works_in_the_folder) {
    const TemporaryFolder folder;
    const StopFlag stop = false;
    EXPECT_EQ(run_quietly({"/bin/sh", "-c", "echo 1 > here"}, folder.path(), long_s, stop), "");
    EXPECT_TRUE(std::filesystem::exists(folder / "here"));
}

TEST(RunQuietly, failures_are_reported_with_the_last_words) {
    const std::string why = run_script("echo 'line 3: no such terminal' >&2; exit 3", long_s);
    EXPECT_NE(why.find("exit code 3: line 3: no such terminal"), why.npos) << why;
    EXPECT_NE(run_script("kill -SEGV $$", long_s).find("signal 11"), std::string::npos);
    const StopFlag stop = false;
    EXPECT_NE(run_quietly({"/no/such/program"}, "/", long_s, stop), "");
}

TEST(RunQuietly, what_hangs_or_never_stops_talking_is_killed) {
    EXPECT_NE(run_script("sleep 1000", 0.1).find("did not end"), std::string::npos);
    EXPECT_NE(run_script("exec 1>&- 2>&-; sleep 1000", 0.1).find("did not end"), std::string::npos);
    EXPECT_NE(run_script("trap '' TERM INT; while :; do echo again; done", 0.1).find("did not end"), std::string::npos);
}

TEST(RunQuietly, a_stop_ends_it) { EXPECT_THROW(run_script("sleep 1000", long_s, true), Cancelled); }

}  // namespace
