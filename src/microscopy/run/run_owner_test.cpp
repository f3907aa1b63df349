// Two runs on one output detect each other on file systems without locks.
// SPDX-License-Identifier: MIT
#include "run/run_owner.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "glint/error.hpp"
#include "tests/temporary_folder.hpp"

using namespace glint;
namespace fs = std::filesystem;

TEST(RunOwner, of_this_host_that_died_is_not_waited_for) {
    test::TemporaryFolder folder;
    char host[256] = {};
    ASSERT_EQ(::gethostname(host, sizeof host - 1), 0);
    const pid_t dead = 0x3ffffff;  // larger than any process ID
    folder.write("owner", std::string(host) + " " + std::to_string(dead) + " 1234 7\n");
    bool told = false;
    const RunOwner owner(folder.path(), "run", [&](const std::string&) { told = true; }, nullptr, {1, 1000});
    EXPECT_FALSE(told);
}

// A process is stopped, as by a batch system that gives its cores to another job. It does not update the file, but is
// alive.
TEST(RunOwner, of_this_host_that_is_stopped_keeps_others_off) {
    test::TemporaryFolder folder;
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        const RunOwner owner(folder.path(), "stopped", {}, nullptr, {1000, 1000});
        ::raise(SIGSTOP);
        ::_exit(0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, WUNTRACED), child);
    ASSERT_TRUE(WIFSTOPPED(status));
    EXPECT_THROW(RunOwner(folder.path(), "second", {}, nullptr, {0.001, 0.01}), OutputError);
    ::kill(child, SIGKILL);
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    RunOwner(folder.path(), "second", {}, nullptr, {0.001, 1000});
}

TEST(RunOwner, of_another_host_is_dead_when_it_is_silent) {
    test::TemporaryFolder folder;
    folder.write("owner", "elsewhere 1 1234 7\n");
    std::string told;
    {
        const RunOwner owner(folder.path(), "run", [&](const std::string& words) { told = words; }, nullptr,
                             {0.02, 0.2});
        owner.check();
    }
    EXPECT_NE(told.find("elsewhere"), std::string::npos);
    EXPECT_FALSE(fs::exists(folder / "owner")) << "it leaves nothing";
}

TEST(RunOwner, that_lives_keeps_others_off) {
    test::TemporaryFolder folder;
    const RunOwner first(folder.path(), "first", {}, nullptr, {0.01, 1000});
    try {
        RunOwner(folder.path(), "second", {}, nullptr, {0.01, 1000});
        FAIL() << "it beats a hundred times a second";
    } catch (const OutputError& error) {
        EXPECT_NE(std::string(error.what()).find("in use"), std::string::npos);
    }
}

TEST(RunOwner, whose_place_was_taken_is_reported) {
    test::TemporaryFolder folder;
    const RunOwner first(folder.path(), "first", {}, nullptr, {0.01, 1000});
    first.check();
    fs::rename(folder.write("new", "elsewhere 1 other 0\n"), folder / "owner");
    const auto told = [&] {
        try {
            first.check();
        } catch (const OutputError&) {
            return true;
        }
        fs::rename(folder.write("new", "elsewhere 1 other 0\n"), folder / "owner");  // it may have written in between
        return false;
    };
    for (int look = 0; look < 3000; ++look, std::this_thread::sleep_for(std::chrono::milliseconds(10)))
        if (told()) return;
    FAIL();
}
