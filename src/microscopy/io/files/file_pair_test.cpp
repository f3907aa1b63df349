// A table and its description: a new file is never paired with an old one.
// SPDX-License-Identifier: MIT
#include "io/files/atomic_file.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "glint/error.hpp"
#include "tests/temporary_folder.hpp"

using namespace glint;
using glint::test::read_bytes;
using Names = std::vector<std::string>;

namespace {

class FilePair : public ::testing::Test {
  protected:
    void commit(IfExists if_exists) {
        AtomicFile description(folder_ / "o.yaml", if_exists), described(folder_ / "o.hdf5", if_exists);
        description.write("new text"), described.write("new table");
        commit_together(description, described);
    }
    std::string table() const { return read_bytes(folder_ / "o.hdf5"); }
    std::string text() const { return read_bytes(folder_ / "o.yaml"); }
    /// Leaves the files of a process that no longer runs.
    void leave(const Names& names) {
        for (const std::string& name : names)
            folder_.write(name, name.find("old") != name.npos ? "old text" : "new text");
    }
    void repair() { repair_pair(folder_ / "o.yaml", folder_ / "o.hdf5"); }

    test::TemporaryFolder folder_;
};

}  // namespace

TEST_F(FilePair, replaces_both) {
    folder_.write("o.hdf5", "old table"), folder_.write("o.yaml", "old text");
    commit(IfExists::replace);
    EXPECT_EQ(table() + ", " + text(), "new table, new text");
    EXPECT_EQ(folder_.names(), (Names{"o.hdf5", "o.yaml"}));
}

TEST_F(FilePair, replaces_neither_where_one_is_in_the_way) {
    folder_.write("o.hdf5", "another's");
    EXPECT_THROW(commit(IfExists::refuse), OutputError);
    EXPECT_EQ(folder_.names(), Names{"o.hdf5"});
    folder_.write("o.hdf5", "new table"), folder_.write("o.yaml", "another's");
    EXPECT_THROW(commit(IfExists::refuse), OutputError);
    EXPECT_EQ(text(), "another's");
}

// Whichever thread is last, both files are from the same thread.
TEST_F(FilePair, of_several_writers_is_of_one) {
    for (int round = 0; round < 50; ++round) {
        std::vector<std::thread> writers;
        for (int k = 0; k < 4; ++k)
            writers.emplace_back([&, k] {
                AtomicFile description(folder_ / "o.yaml"), described(folder_ / "o.hdf5");
                description.write(std::to_string(k)), described.write(std::to_string(k));
                commit_together(description, described);
            });
        for (std::thread& writer : writers) writer.join();
        ASSERT_EQ(table(), text());
    }
    EXPECT_EQ(folder_.names(), (Names{"o.hdf5", "o.yaml"}));
}

TEST_F(FilePair, goes_on_where_a_killed_run_placed_one) {
    folder_.write("o.yaml", "new text");
    commit(IfExists::refuse);
    EXPECT_EQ(table() + ", " + text(), "new table, new text");
}

TEST_F(FilePair, killed_before_the_table_was_replaced_the_old_description_returns) {
    folder_.write("o.hdf5", "old table");
    leave({".o.yaml.old-4194305", ".o.yaml.part-4194305", ".o.hdf5.part-4194305"});
    repair();
    EXPECT_EQ(text(), "old text");
}

TEST_F(FilePair, killed_after_the_table_was_replaced_the_new_description_follows) {
    folder_.write("o.hdf5", "new table");
    leave({".o.yaml.old-4194305", ".o.yaml.part-4194305"});
    repair();
    EXPECT_EQ(text(), "new text");
    EXPECT_EQ(folder_.names(), (Names{"o.hdf5", "o.yaml"}));
}

TEST_F(FilePair, killed_at_the_end_the_old_description_goes) {
    folder_.write("o.hdf5", "new table"), folder_.write("o.yaml", "new text");
    leave({".o.yaml.old-4194305"});
    repair();
    EXPECT_EQ(text(), "new text");
    EXPECT_EQ(folder_.names(), (Names{"o.hdf5", "o.yaml"}));
}
