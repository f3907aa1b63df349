// Values from /proc, including those of processes that end during the query.
// SPDX-License-Identifier: MIT
#include "gpu/process.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace glint::gpu {

TEST(Processes, have_a_name_a_state_and_a_parent) {
    const pid_t child = ::fork();
    if (child == 0) {
        ::pause();
        ::_exit(0);
    }
    const auto info = process_info(unsigned(child));
    ASSERT_TRUE(info);
    EXPECT_EQ(info->parent, unsigned(::getpid()));
    EXPECT_EQ(info->uid, ::geteuid());
    EXPECT_TRUE(descends_from(unsigned(child), {unsigned(::getpid())}));
    EXPECT_FALSE(has_ended(unsigned(child)));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    EXPECT_FALSE(process_info(unsigned(child)));
    EXPECT_TRUE(has_ended(unsigned(child)));
}

// Reads fail with another error if a process has ended since its file was opened. This must count as a missing file.
TEST(Processes, whose_files_cannot_be_read_any_more_are_as_those_that_do_not_exist) {
    EXPECT_EQ(content_of("/proc/self"), "") << "a folder can be opened, and not read";
    EXPECT_EQ(content_of("/proc/self/no such file"), "");
    EXPECT_GT(content_of("/proc/self/maps").size(), 8192u) << "in parts";
}

}  // namespace glint::gpu
