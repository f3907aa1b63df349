// Records on disk: what is restored after any kind of end, and which runs a file rejects.
// SPDX-License-Identifier: MIT
#include "run/record_file.hpp"

#include <gtest/gtest.h>
#include <fstream>

#include "glint/error.hpp"
#include "run/finished_frames.hpp"
#include "tests/temporary_folder.hpp"

using namespace glint;
namespace fs = std::filesystem;

namespace {

const Fingerprint fingerprint{{"movie", "m.tif"}, {"threshold", "5"}};

Localizations one_row() {
    Localizations like;
    like.frame = {0};
    like.x_px = like.y_px = like.photons = like.detection_score = {0};
    like.iterations = {0};
    like.status = {0};
    return like;
}

/// Returns block k: frames [3k, 3k + 3), with k rows (so the first block has none).
BlockResult block(int k) {
    BlockResult block;
    block.first_frame = 3 * k;
    block.noise_checks = {1.0f, float(k), 0.5f};
    block.counts = {k, 1, 2, 3, 4, 5, 6, 7};
    block.counts.hits = 8, block.counts.mostly_saturated = 9;
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

void expect_same(const BlockResult& got, const BlockResult& want) {
    EXPECT_EQ(got.first_frame, want.first_frame);
    EXPECT_EQ(got.noise_checks, want.noise_checks);
    EXPECT_EQ(got.counts.spots, want.counts.spots);
    EXPECT_EQ(got.counts.merged, want.counts.merged);
    EXPECT_EQ(got.counts.bad_pixels, want.counts.bad_pixels);
    EXPECT_EQ(got.counts.hits, want.counts.hits);
    EXPECT_EQ(got.counts.mostly_saturated, want.counts.mostly_saturated);
    EXPECT_EQ(got.rows.frame, want.rows.frame);
    EXPECT_EQ(got.rows.x_px, want.rows.x_px);
    EXPECT_EQ(got.rows.detection_score, want.rows.detection_score);
    EXPECT_EQ(got.rows.status, want.rows.status);
}

class RecordFiles : public ::testing::Test {
  protected:
    void write_blocks(int count) {
        RecordFile file(path_, TableLayout(one_row()));
        file.open_locked();
        file.start(fingerprint);
        for (int k = 0; k < count; ++k) file.append(block(k));
    }
    /// Reads all records, appends one, and reads all of them again. Returns the number of records before.
    int append_to_what_is_there() {
        int seen = 0, again = 0;
        FinishedFrames finished(fingerprint, TableLayout(one_row()), {0, 100});
        const std::uint64_t end = finished.add(path_, [&](const BlockResult& got) { expect_same(got, block(seen++)); });
        RecordFile file(path_, TableLayout(one_row()));
        file.open_locked();
        Fingerprint found;
        if (end > 0 && file.read_header(found))
            file.end_at(end);
        else
            file.start(fingerprint);
        finished.append_to(file, block(seen));
        finished.for_each([&](const BlockResult& got) { expect_same(got, block(again++)); });
        EXPECT_EQ(again, seen + 1);
        return seen;
    }

    test::TemporaryFolder folder_;
    fs::path path_ = folder_ / "out.hdf5.journal";
};

}  // namespace

TEST_F(RecordFiles, give_back_what_was_appended) {
    write_blocks(4);
    EXPECT_EQ(append_to_what_is_there(), 4);
}

// Wherever the file ends, its complete records are restored, and the next one can follow.
TEST_F(RecordFiles, truncated_anywhere_keep_their_whole_records) {
    write_blocks(3);
    const std::string bytes = test::read_bytes(path_);
    int most = 0;
    for (std::size_t length = 0; length <= bytes.size(); ++length) {
        fs::remove(path_);
        std::ofstream(path_, std::ios::binary).write(bytes.data(), std::streamsize(length));
        const int seen = append_to_what_is_there();
        EXPECT_GE(seen, most) << "cut at " << length;
        most = seen;
    }
    EXPECT_EQ(most, 3);
}

TEST_F(RecordFiles, with_a_flipped_bit_end_before_its_record) {
    write_blocks(3);
    std::fstream file(path_, std::ios::binary | std::ios::in | std::ios::out);
    file.seekg(-20, std::ios::end);
    const char flipped = char(file.get() ^ 4);
    file.seekp(-20, std::ios::end);
    file.put(flipped);
    file.close();
    EXPECT_EQ(append_to_what_is_there(), 2);
}

// As another run does if locks do not work: a complete record of the same length at the same position.
TEST_F(RecordFiles, with_another_record_in_the_place_of_one_are_refused) {
    write_blocks(3);
    FinishedFrames finished(fingerprint, TableLayout(one_row()), {0, 100});
    finished.add(path_, [](const BlockResult&) {});
    RecordFile other(path_, TableLayout(one_row()));
    other.open_locked();
    other.start(fingerprint);
    for (int k = 0; k < 3; ++k) {
        BlockResult different = block(k);
        for (float& x : different.rows.x_px) x += 1;
        other.append(different);
    }
    EXPECT_THROW(finished.for_each([](const BlockResult&) {}), InputError);
}

TEST_F(RecordFiles, that_are_locked_refuse_a_second_writer_who_leaves_them) {
    {
        RecordFile first(path_, TableLayout(one_row()));
        first.open_locked();
        try {
            RecordFile(path_, TableLayout(one_row())).open_locked();
            FAIL();
        } catch (const OutputError& error) {
            EXPECT_NE(std::string(error.what()).find("another glint"), std::string::npos) << error.what();
        }
        EXPECT_TRUE(fs::exists(path_)) << "it is the first one's";
    }
    EXPECT_FALSE(fs::exists(path_)) << "a file without a record is of no use";
}

TEST_F(RecordFiles, in_a_missing_folder_name_it) {
    try {
        RecordFile(folder_ / "nowhere/out.journal", TableLayout(one_row())).open_locked();
        FAIL();
    } catch (const OutputError& error) {
        EXPECT_NE(std::string(error.what()).find("mkdir"), std::string::npos) << error.what();
    }
}
