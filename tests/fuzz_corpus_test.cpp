// Replays the fuzzers' inputs: seeds, and inputs that once broke a reader. A reader succeeds or throws glint's own
// error.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <iterator>

#include "tests/fuzz/targets.hpp"

using namespace glint;

namespace {

std::string bytes_of_file(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST(FuzzCorpus, every_input_is_answered_or_refused) {
    for (const fuzz::Target& target : fuzz::targets) {
        const auto folder = std::filesystem::path(GLINT_SOURCE_DIR) / "tests/fuzz/corpus" / target.name;
        int inputs = 0;
        for (const auto& input : std::filesystem::directory_iterator(folder)) {
            SCOPED_TRACE(input.path().string());
            fuzz::reads_until_copy = 0;
            EXPECT_NO_THROW(target.feed(bytes_of_file(input.path())));
            ++inputs;
        }
        EXPECT_GT(inputs, 0) << folder;
    }
}

// Otherwise a fuzzer would start from an input whose first bytes the reader refuses.
TEST(FuzzCorpus, the_seed_of_records_is_as_they_are_written_now) {
    Localizations like;
    like.frame = {0}, like.x_px = like.y_px = like.photons = {1};
    RecordFile file(std::filesystem::path(GLINT_SOURCE_DIR) / "tests/fuzz/corpus/records/seed_file", TableLayout(like));
    file.open(O_RDONLY);
    Fingerprint begun_with;
    ASSERT_TRUE(file.read_header(begun_with));
    EXPECT_EQ(begun_with, (Fingerprint{{"movie", "m"}}));
    BlockResult block;
    ASSERT_GT(file.read(file.records_begin(), file.file_size(), block), 0u);
    EXPECT_EQ(block.frames(), 2);
    EXPECT_EQ(block.rows.frame, (std::vector<std::uint32_t>{0, 1, 2}));
}
