// Movies that grow: scans of folders, and the report of a replaced file. Growing TIFFs: tiff/index_test.cpp.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <functional>

#include "glint/error.hpp"
#include "glint/movie_io.hpp"
#include "tests/expect_error.hpp"
#include "tests/reads_so_far.hpp"
#include "tests/temporary_folder.hpp"
#include "tests/tiff_pages.hpp"

using namespace glint;
using test::expect_error;
using test::reads_so_far;
using test::write_tiff;

namespace {

/// Waits for one more scan. Returns the number of frames after it.
std::int64_t look(GrowingMovie& movie) {
    constexpr std::int64_t beyond_all = 1'000'000;
    return movie.frames_beyond(beyond_all, 0.25);
}

}  // namespace

TEST(GrowingMovie, packed_files_of_a_folder_are_opened_by_two_looks) {
    if (reads_so_far() < 0) GTEST_SKIP() << "the system does not count reads";
    const test::TemporaryFolder folder;
    const auto add = [&](int from, int to) {
        for (int k = from; k < to; ++k)  // sizes differ from the first file's, so that no file is assumed to match it
            write_tiff(folder / fmt::format("{}.tif", k), 1,
                       {.compression = COMPRESSION_LZW, .description = k == 0 ? "" : fmt::format("number {}", k)});
    };
    constexpr int known = 150, added = 5, max_per_file = 12;
    add(0, known);
    const auto movie = open_growing_movie({folder.path()}, {}, 1);
    const auto reads = [&] {
        const std::int64_t before = reads_so_far();
        look(*movie);
        return reads_so_far() - before;
    };
    EXPECT_GT(reads(), known);
    EXPECT_LT(reads(), known);
    add(known, known + added);
    EXPECT_LT(reads(), (2 * added + 2) * max_per_file);
    EXPECT_EQ(look(*movie), known + added);
    EXPECT_GT((look(*movie), movie->end()), known);
    EXPECT_TRUE(movie->info().warnings.empty());
}

TEST(GrowingMovie, a_file_of_a_folder_that_changes_its_size_is_opened_again) {
    const test::TemporaryFolder folder;
    write_tiff(folder / "0.tif", 1);
    write_tiff(folder / "1.tif", 2);
    const auto movie = open_growing_movie({folder.path()}, {}, 1);
    for (int k = 0; k < 3; ++k) look(*movie);
    EXPECT_EQ(look(*movie), 3);
    write_tiff(folder / "1.tif", 5);
    look(*movie);
    EXPECT_EQ(look(*movie), 6);
    EXPECT_EQ(movie->end(), 6);
}

TEST(GrowingMovie, a_file_that_was_replaced_is_reported) {
    const test::TemporaryFolder folder;
    const auto path = write_tiff(folder / "m.tif", 4);
    for (const bool replaced : {false, true}) {
        const auto movie = open_growing_movie({path}, {}, 1);
        for (int k = 0; k < 3; ++k) EXPECT_EQ(look(*movie), 4);
        if (replaced) std::filesystem::rename(write_tiff(folder / "other.tif", 6), path);
        EXPECT_EQ(movie->end(), replaced ? 6 : 4);
        ASSERT_EQ(movie->info().warnings.size(), replaced ? 1u : 0u);
        if (replaced) {
            EXPECT_NE(movie->info().warnings[0].find("m.tif: was replaced"), std::string::npos);
        }
    }
}

TEST(GrowingMovie, files_of_a_folder_that_change_places_are_reported) {
    using Folder = test::TemporaryFolder;
    const auto name = [](int k) { return fmt::format("f{}.tif", k); };
    const auto warnings_after = [&](const std::function<void(const Folder&)>& change) {
        const Folder folder;
        for (int k = 0; k < 6; ++k) write_tiff(folder / name(k), 1);
        const auto movie = open_growing_movie({folder.path()}, {}, 1);
        for (int k = 0; k < 3; ++k) EXPECT_EQ(look(*movie), 6);
        change(folder);
        look(*movie), look(*movie);
        movie->end();
        return fmt::format("{}", fmt::join(movie->info().warnings, "\n"));
    };
    EXPECT_EQ(warnings_after([&](const Folder& folder) {
                  for (int k = 6; k < 9; ++k) write_tiff(folder / name(k), 1);
              }),
              "");
    EXPECT_NE(warnings_after([&](const Folder& folder) {
                  std::filesystem::remove(folder / name(2));
              }).find("f2.tif: was replaced, removed"),
              std::string::npos);
    EXPECT_NE(
        warnings_after([&](const Folder& folder) { write_tiff(folder / "a.tif", 1); }).find("f0.tif: was replaced"),
        std::string::npos);
    const auto rewritten = warnings_after([&](const Folder& folder) {
        const auto path = folder / name(3);
        const auto before = std::filesystem::last_write_time(path);
        write_tiff(path, 1);
        std::filesystem::last_write_time(path, before + std::chrono::seconds(1));
    });
    EXPECT_NE(rewritten.find("f3.tif: was replaced"), std::string::npos) << rewritten;
}

TEST(GrowingMovie, has_the_frames_before_those_of_another_size_or_type_and_ends_with_an_error) {
    const test::TemporaryFolder folder;
    const test::TiffPageOptions usual, other{.width = 9}, colour{.samples = 3, .photometric = PHOTOMETRIC_RGB};
    const auto path = write_tiff(folder / "m.tif", std::vector{usual, usual, usual, other, usual});
    const auto movie = open_growing_movie({path}, {}, 1);
    for (int k = 0; k < 3; ++k) EXPECT_EQ(look(*movie), 3);
    expect_error<InputError>([&] { movie->end(); }, {"m.tif: page 4 is 9x6 pixels", "split the file"});

    write_tiff(folder / "c.tif", std::vector{usual, usual, colour});
    const auto with_colour = open_growing_movie({folder / "c.tif"}, {}, 1);
    for (int k = 0; k < 3; ++k) EXPECT_EQ(look(*with_colour), 2);
    expect_error<InputError>([&] { with_colour->end(); }, {"c.tif: page 3", "colour"});
}

TEST(GrowingMovie, of_a_folder_ends_before_a_file_of_another_size_with_an_error) {
    const test::TemporaryFolder folder;
    for (int k = 0; k < 6; ++k) write_tiff(folder / fmt::format("{}.tif", k), 1, {.width = k == 4 ? 9u : 8u});
    const auto movie = open_growing_movie({folder.path()}, {}, 1);
    for (int k = 0; k < 3; ++k) EXPECT_EQ(look(*movie), 4);
    expect_error<InputError>([&] { movie->end(); }, {"4.tif: has 9x6 px", "to another folder"});
}

TEST(GrowingMovie, that_cannot_be_opened_any_more_ends_with_the_reason) {
    const test::TemporaryFolder folder;
    const auto path = write_tiff(folder / "m.tif", 3);
    const auto movie = open_growing_movie({path}, {}, 1);
    for (int k = 0; k < 3; ++k) EXPECT_EQ(look(*movie), 3);
    folder.write("m.tif", "no movie");
    expect_error<InputError>([&] { movie->end(); }, {"m.tif"});
}
