// Files that already exist at a run's paths: files of other origin are kept, and the error names the remedy.
// SPDX-License-Identifier: MIT
#include <sys/stat.h>

#include "tests/localize_fixture.hpp"

using namespace glint;
using test::Pipeline;
using test::read_bytes;

TEST_F(Pipeline, existing_output_is_replaced_on_request_only) {
    const auto out = folder_.write("out.csv", "precious");
    EXPECT_NE(message_of(options(), "out.csv").find("`overwrite`"), std::string::npos);
    EXPECT_EQ(read_bytes(out), "precious");
    LocalizeOptions how = options();
    how.overwrite = true;
    localize(*movie(), camera(), out, how);
    EXPECT_EQ(read_bytes(out), reference());
}

TEST_F(Pipeline, an_interrupted_replacement_says_how_to_go_on) {
    const auto out = folder_ / "out.csv";
    stopped_at(40, out);
    folder_.write("out.csv", "the old table");
    LocalizeOptions how = options();
    how.resume = true;
    EXPECT_NE(message_of(how, "out.csv").find("`resume` and `overwrite`"), std::string::npos);
    how.overwrite = true;
    const std::string expected = reference();
    EXPECT_EQ(message_of(how, "out.csv"), "");
    EXPECT_EQ(read_bytes(out), expected);
}

TEST_F(Pipeline, a_journal_that_is_none_is_left_alone) {
    folder_.write("out.csv.journal", "my notes, not yours");
    for (const bool resume : {false, true})
        for (const bool overwrite : {false, true}) {
            LocalizeOptions how = options();
            how.resume = resume, how.overwrite = overwrite;
            EXPECT_NE(message_of(how, "out.csv").find("no journal"), std::string::npos);
        }
    EXPECT_EQ(read_bytes(folder_ / "out.csv.journal"), "my notes, not yours");
}

TEST_F(Pipeline, a_damaged_journal_is_not_begun_anew_in_silence) {
    const auto out = folder_ / "out.csv";
    stopped_at(40, out);
    std::string journal = read_bytes(journal_path(out));
    journal[60] ^= 1;
    folder_.write("out.csv.journal", journal);
    for (const bool resume : {false, true}) {
        LocalizeOptions how = options();
        how.resume = resume;
        EXPECT_NE(message_of(how, "out.csv").find("damaged"), std::string::npos);
    }
    EXPECT_EQ(read_bytes(journal_path(out)), journal);
}

// Files that are named like a run's files but do not belong to a run.
TEST_F(Pipeline, what_is_not_of_a_run_is_neither_removed_nor_written_over) {
    namespace fs = std::filesystem;
    folder_.write("file.csv.journal.parts", "my notes");
    EXPECT_NE(message_of(options(), "file.csv").find("is a file"), std::string::npos);
    EXPECT_EQ(read_bytes(folder_ / "file.csv.journal.parts"), "my notes");

    fs::create_directory(folder_ / "far");
    fs::create_directory_symlink("far", folder_ / "link.csv.journal.parts");
    EXPECT_NE(message_of(options(), "link.csv").find("is a link"), std::string::npos);
    EXPECT_TRUE(fs::is_symlink(folder_ / "link.csv.journal.parts"));

    fs::create_directories(folder_ / "in.csv.journal.parts/photos");
    folder_.write("in.csv.journal.parts/thesis.txt", "my thesis");
    EXPECT_EQ(message_of(options(), "in.csv"), "");
    EXPECT_EQ(read_bytes(folder_ / "in.csv.journal.parts/thesis.txt"), "my thesis");
    EXPECT_TRUE(fs::exists(folder_ / "in.csv.journal.parts/photos"));

    ASSERT_EQ(::mkfifo((folder_ / "pipe.csv.journal").c_str(), 0600), 0);
    EXPECT_NE(message_of(options(), "pipe.csv").find("not a regular file"), std::string::npos);
    EXPECT_TRUE(fs::is_fifo(folder_ / "pipe.csv.journal"));

    fs::create_directory(folder_ / ".a.csv.journal.parts-backup");
    folder_.write(".a.csv.journal.parts-backup/b.part", "mine");
    folder_.write("a.partial.csv", "all that is left");
    LocalizeOptions resume = options();
    resume.resume = true;
    EXPECT_NE(message_of(resume, "a.csv").find("a.partial.csv"), std::string::npos) << "of no run that is gone on with";
    EXPECT_EQ(read_bytes(folder_ / "a.partial.csv"), "all that is left");
    EXPECT_EQ(read_bytes(folder_ / ".a.csv.journal.parts-backup/b.part"), "mine");
}
