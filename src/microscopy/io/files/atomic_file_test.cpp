// Files that appear only when complete: all ways of not completing one.
// SPDX-License-Identifier: MIT
#include "io/files/atomic_file.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <string>

#include "glint/error.hpp"
#include "tests/temporary_folder.hpp"

using namespace glint;
using glint::test::read_bytes;
using glint::test::TemporaryFolder;

namespace {

std::string message_of(const std::filesystem::path& target) {
    try {
        AtomicFile file(target);
    } catch (const OutputError& error) {
        return error.what();
    }
    return "no error";
}

}  // namespace

TEST(AtomicFile, appears_at_commit_and_replaces_the_older_one) {
    TemporaryFolder folder;
    folder.write("out.txt", "old");
    AtomicFile file(folder / "out.txt");
    file.write("new ");
    file.write("text");
    EXPECT_EQ(read_bytes(folder / "out.txt"), "old");
    file.commit();
    EXPECT_EQ(read_bytes(folder / "out.txt"), "new text");
    EXPECT_EQ(folder.names(), std::vector<std::string>{"out.txt"});
}

TEST(AtomicFile, leaves_nothing_when_not_committed) {
    TemporaryFolder folder;
    {
        AtomicFile file(folder / "out.txt");
        file.write("half");
        ASSERT_EQ(folder.names().size(), 1u);
        EXPECT_EQ(folder.names()[0], ".out.txt.part-" + std::to_string(::getpid()));
    }
    EXPECT_TRUE(folder.names().empty());
}

TEST(AtomicFile, two_writers_and_a_leftover_do_not_collide) {
    TemporaryFolder folder;
    folder.write(".out.txt.part-" + std::to_string(::getpid()), "of a killed run");
    AtomicFile first(folder / "out.txt"), second(folder / "out.txt");
    first.write("1");
    second.write("2");
    second.commit();
    first.commit();
    EXPECT_EQ(read_bytes(folder / "out.txt"), "1");
}

TEST(AtomicFile, does_not_replace_what_it_is_not_to) {
    TemporaryFolder folder;
    AtomicFile file(folder / "out.txt", IfExists::refuse);
    file.write("mine");
    folder.write("out.txt", "another's");
    EXPECT_THROW(file.commit(), OutputError);
    EXPECT_EQ(read_bytes(folder / "out.txt"), "another's");
}

TEST(AtomicFile, the_same_bytes_are_no_conflict) {
    TemporaryFolder folder;
    folder.write("out.txt", "mine");
    AtomicFile file(folder / "out.txt", IfExists::refuse);
    file.write("mine");
    file.commit();
    EXPECT_EQ(folder.names(), std::vector<std::string>{"out.txt"});
}

TEST(AtomicFile, a_failure_is_remembered_for_libraries_that_pass_over_it) {
    TemporaryFolder folder;
    std::signal(SIGXFSZ, SIG_IGN);
    rlimit before;
    getrlimit(RLIMIT_FSIZE, &before);
    const rlimit tight{1000, before.rlim_max};
    AtomicFile file(folder / "out.txt");
    setrlimit(RLIMIT_FSIZE, &tight);
    const std::string bytes(2000, 'x');
    file.write_at(0, bytes.data(), bytes.size());
    setrlimit(RLIMIT_FSIZE, &before);
    file.write_at(0, bytes.data(), bytes.size());
    EXPECT_THROW(file.commit(), OutputError);
    EXPECT_FALSE(std::filesystem::exists(folder / "out.txt"));
}

TEST(AtomicFile, writes_through_a_symbolic_link) {
    TemporaryFolder folder;
    folder.write("real.txt", "old");
    std::filesystem::create_symlink("real.txt", folder / "link.txt");
    AtomicFile file(folder / "link.txt");
    file.write("new");
    file.commit();
    EXPECT_TRUE(std::filesystem::is_symlink(folder / "link.txt"));
    EXPECT_EQ(read_bytes(folder / "real.txt"), "new");
}

TEST(AtomicFile, names_the_cause_and_the_way_out) {
    TemporaryFolder folder;
    folder.write("file", "");
    EXPECT_NE(message_of(folder / "missing/out.txt").find("mkdir -p"), std::string::npos);
    EXPECT_NE(message_of(folder / "file/out.txt").find("is not a folder"), std::string::npos);
    EXPECT_NE(message_of(folder.path()).find("there is a folder of that name"), std::string::npos);
    EXPECT_NE(message_of("/proc/out.txt").find("no file can be made in /proc"), std::string::npos);
    EXPECT_NE(message_of("/dev/full").find("device"), std::string::npos);
    EXPECT_NE(message_of(folder / std::string(300, 'a')).find("too long"), std::string::npos);
}

TEST(AtomicFile, an_unwritable_folder_is_named) {
    TemporaryFolder folder;
    std::filesystem::permissions(folder.path(), std::filesystem::perms::owner_read);
    const bool root = ::geteuid() == 0;
    if (root && ::seteuid(65534) != 0) GTEST_SKIP() << "root may write everywhere, and this one cannot be another user";
    const std::string message = message_of(folder / "out.txt");
    if (root) {
        ASSERT_EQ(::seteuid(0), 0);
    }
    EXPECT_NE(message.find("no permission to write in " + folder.path().string()), std::string::npos) << message;
    std::filesystem::permissions(folder.path(), std::filesystem::perms::owner_all);
}

TEST(AtomicFile, a_full_disk_leaves_the_older_file) {
    TemporaryFolder folder;
    folder.write("out.txt", "old");
    std::signal(SIGXFSZ, SIG_IGN);
    rlimit before;
    getrlimit(RLIMIT_FSIZE, &before);
    const rlimit tight{1000, before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &tight);  // simulates a full disk
    {
        AtomicFile file(folder / "out.txt");
        EXPECT_THROW(file.write(std::string(2000, 'x')), OutputError);
    }
    setrlimit(RLIMIT_FSIZE, &before);
    EXPECT_EQ(read_bytes(folder / "out.txt"), "old");
    EXPECT_EQ(folder.names(), std::vector<std::string>{"out.txt"});
}
