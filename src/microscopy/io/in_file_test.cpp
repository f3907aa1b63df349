// Positions of frames that another process may read directly from the file.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>
#include <unistd.h>

#include "glint/movie_io.hpp"
#include "tests/temporary_folder.hpp"
#include "tests/tiff_pages.hpp"

using namespace glint;
using test::write_tiff;

namespace {

void expect_in_file(Movie& movie, std::int64_t first, int count) {
    const std::optional<FramesInFile> frames = movie.in_file(first, count);
    ASSERT_TRUE(frames);
    ASSERT_EQ(frames->offsets.size(), std::size_t(count));
    FrameBlock block;
    movie.read(first, count, block);
    for (int k = 0; k < count; ++k) {
        std::vector<std::byte> there(block.frame_bytes());
        ASSERT_EQ(::pread(frames->descriptor, there.data(), there.size(), off_t(frames->offsets[std::size_t(k)])),
                  ssize_t(there.size()));
        EXPECT_TRUE(std::equal(there.begin(), there.end(), block.frame(k))) << k;
    }
}

}  // namespace

TEST(FramesInFile, of_tiff) {
    const test::TemporaryFolder folder;
    expect_in_file(*open_movie(write_tiff(folder / "plain.tif", 5, {})), 1, 3);
    EXPECT_FALSE(open_movie(write_tiff(folder / "packed.tif", 5, {.compression = COMPRESSION_LZW}))->in_file(0, 1));
    EXPECT_FALSE(open_movie(write_tiff(folder / "swapped.tif", 5, {}, "wb"))->in_file(0, 1));
    expect_in_file(*open_movie(write_tiff(folder / "bytes.tif", 5, {.bits = 8}, "wb")), 0, 5);
}

TEST(FramesInFile, of_plain_files) {
    const test::TemporaryFolder folder;
    for (const bool big : {false, true}) {
        folder.write("movie.yaml", std::string("Data Type: uint16\nByte Order: ") + (big ? "'>'" : "'<'") +
                                       "\nFrames: 3\nHeight: 2\nWidth: 4\n");
        const auto movie = open_movie(folder.write("movie.raw", "sixteen bytes of each frame, three of these....."));
        if (big)
            EXPECT_FALSE(movie->in_file(0, 3));
        else
            expect_in_file(*movie, 1, 2);
    }
}

TEST(FramesInFile, of_movies_one_behind_the_other) {
    const test::TemporaryFolder folder;
    std::vector<std::filesystem::path> paths;
    for (const char* name : {"a.tif", "b.tif", "c.tif"}) paths.push_back(write_tiff(folder / name, 4, {}));
    const auto movie = open_joined_movie(paths);
    expect_in_file(*movie, 4, 4);
    expect_in_file(*movie, 9, 2);
    EXPECT_NE(movie->in_file(0, 1)->descriptor, movie->in_file(4, 1)->descriptor);
    EXPECT_TRUE(movie->in_file(0, 1)->open) << "another part may take its place";
    EXPECT_FALSE(movie->in_file(3, 2)) << "of two files";
}
