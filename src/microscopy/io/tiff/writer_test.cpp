// Written movies: read back, complete or absent. tests/judge/test_movies.py reads them with tifffile.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cmath>
#include <csignal>

#include "glint/error.hpp"
#include "glint/movie_io.hpp"
#include "tests/expect_error.hpp"
#include "tests/temporary_folder.hpp"

using namespace glint;

namespace {

FrameBlock frames(std::int64_t first, int count, PixelType type) {
    FrameBlock block{.first_frame = first, .count = count, .width = 5, .height = 3, .type = type, .bytes = {}};
    block.bytes.resize(std::size_t(count) * block.frame_bytes());
    for (std::size_t k = 0; k < block.bytes.size(); ++k)
        block.bytes[k] = std::byte(std::size_t(first) * block.frame_bytes() + k);
    return block;
}

MovieInfo facts(PixelType type) {
    MovieInfo info;
    info.width = 5;
    info.height = 3;
    info.type = type;
    return info;
}

}  // namespace

TEST(TiffMovieWriter, round_trip_of_every_type) {
    const test::TemporaryFolder folder;
    for (const PixelType type : {PixelType::uint8, PixelType::uint16, PixelType::float32}) {
        MovieInfo info = facts(type);
        info.pixel_size_nm = 107.3;
        TiffMovieWriter writer(folder / "movie.tif", info);
        writer.append(frames(0, 2, type));
        writer.append(frames(2, 5, type));
        writer.close();
        const auto movie = open_movie(folder / "movie.tif");
        EXPECT_EQ(movie->info().frames, 7);
        EXPECT_EQ(movie->info().type, type);
        EXPECT_EQ(movie->info().pixel_size_nm, 107.3);
        EXPECT_TRUE(movie->info().warnings.empty());
        FrameBlock found;
        movie->read(0, 7, found);
        EXPECT_EQ(found.bytes, frames(0, 7, type).bytes);
    }
}

TEST(TiffMovieWriter, unknown_pixel_size_stays_unknown) {
    const test::TemporaryFolder folder;
    TiffMovieWriter writer(folder / "movie.tif", facts(PixelType::uint16));
    writer.append(frames(0, 1, PixelType::uint16));
    writer.close();
    EXPECT_FALSE(open_movie(folder / "movie.tif")->info().pixel_size_nm);
}

TEST(TiffMovieWriter, refuses_pixels_that_no_camera_has) {
    const test::TemporaryFolder folder;
    MovieInfo info = facts(PixelType::uint16);
    for (const double nm : {-100.0, 0.0, 0.5, 1e6, std::nan("")}) {
        info.pixel_size_nm = nm;
        test::expect_error<OptionError>([&] { TiffMovieWriter(folder / "movie.tif", info); },
                                        {"movie.tif", "1 to 100000 nm"});
    }
}

TEST(TiffMovieWriter, appears_only_when_closed) {
    const test::TemporaryFolder folder;
    {
        TiffMovieWriter writer(folder / "movie.tif", facts(PixelType::uint8));
        writer.append(frames(0, 3, PixelType::uint8));
        EXPECT_FALSE(std::filesystem::exists(folder / "movie.tif"));
    }
    EXPECT_TRUE(folder.names().empty());
    TiffMovieWriter writer(folder / "movie.tif", facts(PixelType::uint8));
    test::expect_error<OutputError>([&] { writer.close(); }, {"movie.tif", "at least one frame"});
    EXPECT_FALSE(std::filesystem::exists(folder / "movie.tif"));
}

TEST(TiffMovieWriter, a_copy_that_breaks_off_keeps_its_whole_frames) {
    const test::TemporaryFolder folder;
    TiffMovieWriter writer(folder / "movie.tif", facts(PixelType::uint16));
    writer.append(frames(0, 20, PixelType::uint16));
    writer.close();
    std::filesystem::resize_file(folder / "movie.tif", 1024 + 11 * 30 + 7);
    const auto movie = open_movie(folder / "movie.tif");
    EXPECT_EQ(movie->info().frames, 11);
    ASSERT_EQ(movie->info().warnings.size(), 1u);
    EXPECT_NE(movie->info().warnings[0].find("page 12 of 20 is truncated (expected 30 bytes, found 7)"),
              std::string::npos);
}

TEST(TiffMovieWriter, refuses_other_frames_and_places_it_cannot_write) {
    const test::TemporaryFolder folder;
    TiffMovieWriter writer(folder / "movie.tif", facts(PixelType::uint16));
    EXPECT_THROW(writer.append(frames(0, 1, PixelType::uint8)), OptionError);
    test::expect_error<OutputError>([&] { TiffMovieWriter(folder / "no" / "movie.tif", facts(PixelType::uint8)); },
                                    {"movie.tif", "no does not exist"});
}

TEST(TiffMovieWriter, a_write_that_fails_is_an_error_and_leaves_nothing) {
    const test::TemporaryFolder folder;
    // A limit on the size of files simulates a full disk.
    const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
    rlimit old_limit{};
    getrlimit(RLIMIT_FSIZE, &old_limit);
    const rlimit limit{2000, old_limit.rlim_max};
    {
        TiffMovieWriter writer(folder / "movie.tif", facts(PixelType::uint16));
        setrlimit(RLIMIT_FSIZE, &limit);
        test::expect_error<OutputError>([&] { writer.append(frames(0, 100, PixelType::uint16)); }, {"movie.tif"});
    }
    setrlimit(RLIMIT_FSIZE, &old_limit);
    std::signal(SIGXFSZ, old_handler);
    EXPECT_TRUE(folder.names().empty());
}
