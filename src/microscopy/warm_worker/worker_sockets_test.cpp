// Sockets at which workers and clients meet, and other files at their paths.
// SPDX-License-Identifier: MIT
#include "warm_worker/worker_sockets.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "tests/temporary_folder.hpp"

namespace glint::warm_worker {
namespace {

namespace fs = std::filesystem;

struct WorkerSocketsInFolder : ::testing::Test {
    test::TemporaryFolder leases;
    fs::path folder = leases / ("worker." + std::to_string(::geteuid()));
    static mode_t mode_of(const fs::path& path) {
        struct stat status {};
        EXPECT_EQ(::lstat(path.c_str(), &status), 0) << path;
        return status.st_mode;
    }
};

}  // namespace

TEST_F(WorkerSocketsInFolder, is_for_this_user_alone) {
    const WorkerSockets sockets(leases.path());
    ASSERT_EQ(sockets.why_not(), "");
    EXPECT_EQ(mode_of(folder), mode_t(S_IFDIR | 0700));
    ASSERT_TRUE(sockets.lock("a"));
    const Descriptor listener = sockets.listen("a");
    ASSERT_TRUE(listener);
    EXPECT_EQ(mode_of(folder / "a.socket"), mode_t(S_IFSOCK | 0600));
    EXPECT_EQ(mode_of(folder / "a.lock"), mode_t(S_IFREG | 0600));
    EXPECT_TRUE(sockets.connect("a"));
    EXPECT_FALSE(sockets.connect("b"));
    EXPECT_EQ(sockets.names(), std::vector<std::string>{"a"});
}

TEST_F(WorkerSocketsInFolder, a_folder_that_others_could_enter_or_made_is_not_used) {
    fs::create_directory(folder);
    for (const mode_t mode : {0770, 0707, 0710, 0701, 0777}) {
        ASSERT_EQ(::chmod(folder.c_str(), mode), 0);
        EXPECT_NE(WorkerSockets(leases.path()).why_not(), "") << std::oct << mode;
    }
    ASSERT_EQ(::chmod(folder.c_str(), 0700), 0);
    EXPECT_EQ(WorkerSockets(leases.path()).why_not(), "");
    fs::remove(folder);
    const test::TemporaryFolder elsewhere;
    fs::create_directory_symlink(elsewhere.path(), folder);
    EXPECT_NE(WorkerSockets(leases.path()).why_not(), "") << "it followed a link";
    fs::remove(folder);
    leases.write(folder.filename().string(), "a file");
    EXPECT_NE(WorkerSockets(leases.path()).why_not(), "");
    EXPECT_TRUE(elsewhere.names().empty());
}

TEST_F(WorkerSocketsInFolder, a_folder_that_another_user_made_is_no_obstacle) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can create files of two users";
    fs::create_directory(folder);
    ASSERT_EQ(::chmod(folder.c_str(), 0777), 0);
    ASSERT_EQ(::chown(folder.c_str(), 12345, 12345), 0);
    const WorkerSockets sockets(leases.path());
    ASSERT_EQ(sockets.why_not(), "");
    ASSERT_TRUE(sockets.lock("a"));
    const Descriptor listener = sockets.listen("a");
    EXPECT_TRUE(WorkerSockets(leases.path(), IfMissing::leave).connect("a")) << "clients find the same folder";
    EXPECT_TRUE(fs::is_empty(folder));
    ASSERT_EQ(leases.names().size(), 2u);
    for (const std::string& name : leases.names())
        if (leases / name != folder) {
            EXPECT_EQ(mode_of(leases / name), mode_t(S_IFDIR | 0700));
        }
}

TEST_F(WorkerSocketsInFolder, who_only_looks_makes_nothing) {
    EXPECT_NE(WorkerSockets(leases.path(), IfMissing::leave).why_not(), "");
    EXPECT_TRUE(WorkerSockets(leases.path(), IfMissing::leave).names().empty());
    EXPECT_TRUE(leases.names().empty());
}

TEST_F(WorkerSocketsInFolder, one_at_a_time_has_the_lock) {
    const WorkerSockets sockets(leases.path());
    Descriptor first = sockets.lock("a");
    ASSERT_TRUE(first);
    EXPECT_FALSE(sockets.lock("a"));
    EXPECT_TRUE(sockets.lock("b"));
    const Descriptor inherited(::dup(first.get()));
    first = Descriptor();
    EXPECT_FALSE(sockets.lock("a")) << "the process that inherited it has it still";
    sockets.remove("a");
    EXPECT_TRUE(sockets.lock("a"));
}

// A file left by a killed worker or by mistake is replaced, and no link is followed.
TEST_F(WorkerSocketsInFolder, what_is_in_the_sockets_place_is_replaced) {
    const WorkerSockets sockets(leases.path());
    ASSERT_TRUE(sockets.listen("a"));  // and closes immediately
    EXPECT_FALSE(sockets.connect("a"));
    const Descriptor again = sockets.listen("a");
    EXPECT_TRUE(sockets.connect("a"));
    const fs::path precious = leases.write("precious", "kept");
    fs::create_symlink(precious, folder / "b.socket");
    EXPECT_FALSE(sockets.connect("b"));
    const Descriptor listener = sockets.listen("b");
    EXPECT_TRUE(sockets.connect("b"));
    EXPECT_EQ(fs::file_size(precious), 4u);
    fs::create_directory(folder / "c.socket");
    EXPECT_FALSE(sockets.listen("c"));
    EXPECT_FALSE(sockets.connect("c"));
    fs::create_symlink(precious, folder / "d.lock");
    EXPECT_FALSE(sockets.lock("d"));
}

TEST_F(WorkerSocketsInFolder, the_name_tells_apart_what_may_not_meet) {
    const std::string usual = to_name({1 << 30, 0});
    EXPECT_EQ(to_name({1 << 30, 0}), usual);
    EXPECT_NE(to_name({1 << 29, 0}), usual);
    EXPECT_NE(to_name({1 << 30, 64}), usual);
    for (const auto& [variable, other] : {std::pair{"CUDA_VISIBLE_DEVICES", "17"}, {"GLINT_ISA", "sse2"}}) {
        const char* before = std::getenv(variable);
        const std::string was = before ? before : "";
        ::setenv(variable, other, 1);
        EXPECT_NE(to_name({1 << 30, 0}), usual) << variable;
        before ? ::setenv(variable, was.c_str(), 1) : ::unsetenv(variable);
        EXPECT_EQ(to_name({1 << 30, 0}), usual);
    }
}

}  // namespace glint::warm_worker
