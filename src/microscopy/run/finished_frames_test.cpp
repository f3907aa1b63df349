// Records of several processes: finished frames are restored, wherever a file was truncated.
// SPDX-License-Identifier: MIT
#include "run/finished_frames.hpp"

#include <gtest/gtest.h>
#include <fstream>

#include "glint/error.hpp"
#include "run/run.hpp"
#include "run/run_files.hpp"
#include "tests/temporary_folder.hpp"

using namespace glint;
using test::read_bytes;
namespace fs = std::filesystem;

namespace {

Localizations one_row() {
    Localizations like;
    like.frame = {0};
    like.x_px = like.y_px = {0};
    return like;
}

/// Returns frames [first, end), with a row in each.
BlockResult block(std::int64_t first, std::int64_t end) {
    BlockResult block;
    block.first_frame = first;
    for (std::int64_t frame = first; frame < end; ++frame) {
        block.noise_checks.push_back(1);
        block.rows.frame.push_back(std::uint32_t(frame));
        block.rows.x_px.push_back(float(frame) + 0.5f);
        block.rows.y_px.push_back(1);
    }
    return block;
}

const Fingerprint fingerprint{{"threshold", "5"}};

class PartFiles : public ::testing::Test {
  protected:
    void SetUp() override { fs::create_directory(parts_path(out_)); }
    fs::path write(int rank, const std::vector<BlockResult>& blocks) {
        const fs::path path = part_path(out_, "run", rank);
        const auto part = new_part(path, fingerprint, TableLayout(one_row()));
        for (const BlockResult& one : blocks) part->append(one);
        return path;
    }
    FinishedFrames all(FrameRange frames = {0, 20}, const Fingerprint& now = fingerprint) {
        FinishedFrames parts(now, TableLayout(one_row()), frames);
        for (const fs::path& path : part_files(parts_path(out_)))
            parts.add(path, [&](const BlockResult& taken) { frames_taken_ += taken.frames(); });
        return parts;
    }
    static std::vector<std::uint32_t> frames_of(const FinishedFrames& parts) {
        std::vector<std::uint32_t> frames;
        parts.for_each(
            [&](const BlockResult& one) { frames.insert(frames.end(), one.rows.frame.begin(), one.rows.frame.end()); });
        return frames;
    }

    test::TemporaryFolder folder_;
    fs::path out_ = folder_ / "out.csv";
    std::int64_t frames_taken_ = 0;
};

}  // namespace

TEST_F(PartFiles, are_put_together_in_the_order_of_frames_and_know_what_they_lack) {
    write(1, {block(8, 10), block(2, 5)});
    write(0, {block(0, 2), block(15, 16)});
    const FinishedFrames parts = all();
    EXPECT_EQ(frames_of(parts), (std::vector<std::uint32_t>{0, 1, 2, 3, 4, 8, 9, 15}));
    EXPECT_EQ(frames_taken_, 8);
    const std::vector<FrameRange> gaps = parts.gaps();
    ASSERT_EQ(gaps.size(), 3u);
    EXPECT_EQ(gaps[0].begin, 5);
    EXPECT_EQ(gaps[0].end, 8);
    EXPECT_EQ(gaps[2].begin, 16);
    EXPECT_EQ(gaps[2].end, 20);
}

// Two runs that did not know of each other. Each frame counts once.
TEST_F(PartFiles, that_overlap_count_each_frame_once) {
    write(0, {block(0, 4), block(4, 8)});
    write(1, {block(2, 6), block(8, 10), block(0, 4), block(18, 25)});
    const FinishedFrames parts = all();
    EXPECT_EQ(frames_of(parts), (std::vector<std::uint32_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
    EXPECT_EQ(frames_taken_, 10);
}

TEST_F(PartFiles, cut_anywhere_keep_their_whole_records) {
    write(0, {block(0, 3)});
    const fs::path path = write(1, {block(3, 6), block(6, 9)});
    const std::string bytes = read_bytes(path);
    std::int64_t most = 0;
    for (std::size_t length = 0; length <= bytes.size(); ++length) {
        std::ofstream(path, std::ios::binary).write(bytes.data(), std::streamsize(length));
        frames_taken_ = 0;
        const FinishedFrames parts = all({0, 9});
        EXPECT_EQ(std::int64_t(frames_of(parts).size()), frames_taken_);
        EXPECT_GE(frames_taken_, most);
        most = frames_taken_;
    }
    EXPECT_EQ(most, 9);
}

TEST_F(PartFiles, of_other_options_are_refused_and_named) {
    write(0, {block(0, 3)});
    try {
        all({0, 20}, {{"threshold", "6"}});
        FAIL();
    } catch (const OptionError& error) {
        EXPECT_NE(std::string(error.what()).find("threshold (5 then, 6 now)"), std::string::npos) << error.what();
    }
}

TEST_F(PartFiles, belong_to_one_process_each_and_go_when_they_hold_nothing) {
    const fs::path path = part_path(out_, "run", 0);
    {
        const auto first = new_part(path, fingerprint, TableLayout(one_row()));
        EXPECT_THROW(new_part(path, fingerprint, TableLayout(one_row())), OutputError);
        EXPECT_TRUE(fs::exists(path));
    }
    EXPECT_FALSE(fs::exists(path));
}
