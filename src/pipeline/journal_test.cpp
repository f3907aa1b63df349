// The journal: what it gives back after every kind of end, and whom it refuses.
// SPDX-License-Identifier: MIT
#include "pipeline/journal.hpp"

#include <gtest/gtest.h>
#include <fstream>

#include "glint/error.hpp"
#include "tests/temporary_folder.hpp"

using namespace glint;
namespace fs = std::filesystem;

namespace {

Localizations one_row() {
    Localizations like;
    like.frame = {0};
    like.x_px = like.y_px = like.photons = like.detection_score = {0};
    like.iterations = {0};
    like.status = {0};
    return like;
}

/// Block k: frames [3k, 3k + 3), with k rows (so the first has none).
BlockResult block(int k) {
    BlockResult block;
    block.first_frame = 3 * k;
    block.empty_score_spreads = {1.0f, float(k), 0.5f};
    block.counts = {k, 1, 2, 3, 4};
    for (int row = 0; row < k; ++row) {
        block.rows.frame.push_back(std::uint32_t(3 * k + row % 3));
        block.rows.x_px.push_back(float(row) + 0.25f);
        block.rows.y_px.push_back(float(k));
        block.rows.photons.push_back(1000);
        block.rows.detection_score.push_back(7);
        block.rows.iterations.push_back(5);
        block.rows.status.push_back(1);
    }
    return block;
}

class JournalFiles : public ::testing::Test {
  protected:
    Journal open(
        JournalStart start, const Journal::Visit& visit = [](const BlockResult&) {}, std::string threshold = "5") {
        return Journal(path_, {{"movie", "m.tif"}, {"threshold", std::move(threshold)}}, TableLayout(one_row()), 0,
                       start, visit);
    }
    void write_blocks(int count) {
        Journal journal = open(JournalStart::fresh);
        for (int k = 0; k < count; ++k) journal.append(block(k));
    }
    std::string message_of(JournalStart start, const std::string& threshold) {
        try {
            open(
                start, [](const BlockResult&) {}, threshold);
        } catch (const Error& error) {
            return error.what();
        }
        return "";
    }

    test::TemporaryFolder folder_;
    fs::path path_ = folder_ / "out.hdf5.journal";
};

void expect_same(const BlockResult& got, const BlockResult& want) {
    EXPECT_EQ(got.first_frame, want.first_frame);
    EXPECT_EQ(got.empty_score_spreads, want.empty_score_spreads);
    EXPECT_EQ(got.counts.spots, want.counts.spots);
    EXPECT_EQ(got.counts.bad_pixels, want.counts.bad_pixels);
    EXPECT_EQ(got.rows.frame, want.rows.frame);
    EXPECT_EQ(got.rows.x_px, want.rows.x_px);
    EXPECT_EQ(got.rows.detection_score, want.rows.detection_score);
    EXPECT_EQ(got.rows.status, want.rows.status);
}

}  // namespace

TEST_F(JournalFiles, gives_back_what_was_appended) {
    write_blocks(4);
    int seen = 0;
    Journal journal = open(JournalStart::resume, [&](const BlockResult& got) { expect_same(got, block(seen++)); });
    EXPECT_EQ(seen, 4);
    EXPECT_EQ(journal.next_frame(), 12);
    journal.append(block(4));
    int again = 0;
    journal.for_each([&](const BlockResult& got) { expect_same(got, block(again++)); });
    EXPECT_EQ(again, 5);
}

// Whatever byte the file ends at, the whole records before it come back and the next one can follow.
TEST_F(JournalFiles, truncated_anywhere_it_keeps_its_whole_records) {
    write_blocks(3);
    const auto full = std::size_t(fs::file_size(path_));
    const std::string bytes = test::read_bytes(path_);
    ASSERT_EQ(bytes.size(), full);
    int most = -1;
    for (std::size_t length = 0; length <= full; ++length) {
        fs::remove(path_);
        std::ofstream(path_, std::ios::binary).write(bytes.data(), std::streamsize(length));
        int seen = 0;
        Journal journal = open(JournalStart::resume, [&](const BlockResult& got) { expect_same(got, block(seen++)); });
        EXPECT_GE(seen, most);
        most = seen;
        journal.append(block(seen));
        int again = 0;
        journal.for_each([&](const BlockResult& got) { expect_same(got, block(again++)); });
        EXPECT_EQ(again, seen + 1) << "cut at " << length;
    }
    EXPECT_EQ(most, 3);
}

TEST_F(JournalFiles, a_flipped_bit_ends_the_journal_before_its_record) {
    write_blocks(3);
    std::fstream file(path_, std::ios::binary | std::ios::in | std::ios::out);
    file.seekg(-20, std::ios::end);
    const char flipped = char(file.get() ^ 4);
    file.seekp(-20, std::ios::end);
    file.put(flipped);
    file.close();
    int seen = 0;
    open(JournalStart::resume, [&](const BlockResult&) { ++seen; });
    EXPECT_EQ(seen, 2);
}

TEST_F(JournalFiles, without_resume_finished_frames_are_not_thrown_away) {
    write_blocks(2);
    const std::string message = message_of(JournalStart::fresh, "5");
    EXPECT_NE(message.find("--resume"), std::string::npos);
    EXPECT_NE(message.find("--overwrite"), std::string::npos);
    int seen = 0;
    open(JournalStart::resume, [&](const BlockResult&) { ++seen; });
    EXPECT_EQ(seen, 2);
}

TEST_F(JournalFiles, other_options_are_refused_and_named) {
    write_blocks(2);
    EXPECT_NE(message_of(JournalStart::resume, "6").find("threshold (5 then, 6 now)"), std::string::npos);
    open(
        JournalStart::overwrite, [](const BlockResult&) {}, "6");
    EXPECT_FALSE(fs::exists(path_)) << "a journal without a finished frame is of no use";
}

TEST_F(JournalFiles, two_writers_at_once_are_refused) {
    Journal first = open(JournalStart::fresh);
    EXPECT_NE(message_of(JournalStart::resume, "5").find("another glint"), std::string::npos);
}

TEST_F(JournalFiles, a_file_that_is_no_journal_is_left_alone) {
    std::ofstream(path_) << "my notes, not yours";
    for (JournalStart start : {JournalStart::fresh, JournalStart::resume, JournalStart::overwrite})
        EXPECT_NE(message_of(start, "5").find("no journal"), std::string::npos);
    EXPECT_EQ(fs::file_size(path_), 19u);
}

TEST_F(JournalFiles, a_missing_folder_is_named) {
    path_ = folder_ / "nowhere/out.journal";
    EXPECT_NE(message_of(JournalStart::fresh, "5").find("mkdir"), std::string::npos);
}
