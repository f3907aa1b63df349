// Opening by content: files that are not movies, and MicroManager's continuations.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <tbb/parallel_for.h>

#include "glint/error.hpp"
#include "glint/movie_io.hpp"
#include "tests/expect_error.hpp"
#include "tests/temporary_folder.hpp"
#include "tests/tiff_pages.hpp"

using namespace glint;
using test::expect_error;
using test::write_tiff;

TEST(OpenMovie, says_what_is_wrong_with_a_path) {
    const test::TemporaryFolder folder;
    expect_error<InputError>([&] { open_movie(folder / "none.tif"); }, {"none.tif", "No such file"});
    expect_error<InputError>([&] { open_movie(folder.path()); }, {"is a folder"});
    expect_error<InputError>([&] { open_movie("/dev/null"); }, {"not a regular file"});
    const auto empty = folder.write("empty.tif", "");
    expect_error<InputError>([&] { open_movie(empty); }, {"empty.tif", "is empty"});
    const auto text = folder.write("text.tif", "this is no movie");
    expect_error<InputError>([&] { open_movie(text); },
                             {"text.tif: is no movie", "ends like TIFF (", "74 68 69 73 20 69 73 20, ..."});
    const auto plain = folder.write("text.txt", "this is no movie");
    expect_error<InputError>([&] { open_movie(plain); }, {"text.txt: is no movie", "text.yaml"});
}

TEST(OpenMovie, says_how_to_export_formats_that_are_not_read) {
    const test::TemporaryFolder folder;
    const auto refused = [&](const std::string& magic, std::initializer_list<const char*> parts) {
        const auto path = folder.write("movie.any", magic + std::string(100, '\0'));
        expect_error<InputError>([&] { open_movie(path); }, parts);
    };
    refused("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", {"OIB", "Fiji"});
    refused(std::string("\xff\xfe[\0F\0i\0l\0e\0", 12), {"OIF", "Fiji"});
    refused(std::string("\xff\xfe[\0P\0r\0o\0f\0i\0l\0e\0S\0a\0v\0e\0", 26), {"OIF", "Fiji"});
    refused("OLYMPUSRAWFORMAT", {"OIR", "Fiji"});
    const auto damaged = folder.write("movie.OIB", std::string(100, '\0'));
    expect_error<InputError>([&] { open_movie(damaged); }, {"OIB movie of Olympus", "does not begin like one", "Fiji"});
    refused("PK\x03\x04", {"a ZIP archive", "npz"});
    refused("text", {"is no movie", "glint reads (TIFF, ND2, CZI, LIF, SIF, DCIMG, ", "movie.yaml is not beside it"});
}

TEST(OpenMovie, channels_of_an_oif_are_not_mixed) {
    const test::TemporaryFolder folder;
    const auto files = folder / "cell.oif.files";
    std::filesystem::create_directory(files);
    for (const char* name : {"s_C001T001.tif", "s_C001T002.tif", "s_C001T003.tif"}) write_tiff(files / name, 1);
    EXPECT_EQ(open_movie(files)->info().frames, 3);
    write_tiff(files / "s_C002T001.tif", 1);
    expect_error<InputError>([&] { open_movie(files); }, {"2 channels and 1 z planes", "Fiji"});
}

TEST(OpenMovie, names_the_format_of_a_damaged_file) {
    const test::TemporaryFolder folder;
    const auto refused = [&](const char* name, const std::string& bytes, std::initializer_list<const char*> parts) {
        const auto path = folder.write(name, bytes);
        expect_error<InputError>([&] { open_movie(path); }, parts);
    };
    refused("m.sif", "Andor Tech", {"m.sif: ", "ends like SIF (Andor Solis)", "41 6e", "copy it again"});
    refused("m.LIF", std::string(5000, '\0'), {"ends like LIF (Leica", "begins with zeros, as an interrupted copy"});
    refused("m.lif", std::string("p\0\0\0\1\1\1\1!", 9), {"ends like LIF", "70 00 00 00 01 01 01 01, ..."});
    refused("m.dcimg", "DCIM", {"ends like DCIMG (Hamamatsu HCImage)", "(44 43 49 4d)", "save it as TIFF"});
    refused("m.nd2", "x", {"ends like ND2"});
    refused("m.czi", "x", {"ends like CZI"});
    refused("m.npy", "x", {"ends like NumPy .npy"});
}

TEST(OpenMovie, joins_continuations_of_micromanager) {
    for (const char* extension : {".tif", ".ome.tif"}) {
        const test::TemporaryFolder folder;
        const auto name = [&](const char* number) {
            return folder / (std::string("a_MMStack_Pos0") + number + extension);
        };
        write_tiff(name(""), 3);
        write_tiff(name("_1"), 2);
        write_tiff(name("_2"), 4);
        write_tiff(name("_4"), 4);  // no _3: does not belong to this movie
        EXPECT_EQ(open_movie(name(""))->info().frames, 9);
        EXPECT_EQ(open_movie(name("_1"))->info().frames, 2);
    }
    const test::TemporaryFolder folder;
    write_tiff(folder / "NDTiffStack.tif", 3);
    write_tiff(folder / "NDTiffStack_1.tif", 2);
    EXPECT_EQ(open_movie(folder / "NDTiffStack.tif")->info().frames, 5);
}

// MicroManager begins such a file when the previous one is full. It has no frame yet if the program was killed or is
// still writing.
TEST(OpenMovie, a_continuation_without_a_frame_yet_is_left_out) {
    const test::TemporaryFolder folder;
    const auto path = write_tiff(folder / "a_MMStack.tif", 3);
    for (const std::string& begun :
         {std::string(), std::string("II*\0", 4), std::string("II*\0\x28\0\0\0", 8), std::string(5000, '\0')}) {
        folder.write("a_MMStack_1.tif", begun);
        const auto movie = open_movie(path);
        EXPECT_EQ(movie->info().frames, 3);
        ASSERT_EQ(movie->info().warnings.size(), 1u);
        EXPECT_EQ(movie->info().warnings[0], "a_MMStack_1.tif: has no whole frame yet, and is left out");
    }
}

TEST(OpenMovie, a_link_to_nothing_ends_no_movie) {
    const test::TemporaryFolder folder;
    write_tiff(folder / "a_MMStack.tif", 3);
    std::filesystem::create_symlink("gone.tif", folder / "a_MMStack_1.tif");
    expect_error<InputError>([&] { open_movie(folder / "a_MMStack.tif"); }, {"a_MMStack_1.tif", "No such file"});
    const test::TemporaryFolder singles;
    for (const char* name : {"t_1.tif", "t_2.tif", "t_4.tif"}) write_tiff(singles / name, 1);
    std::filesystem::create_symlink("gone.tif", singles / "t_3.tif");
    expect_error<InputError>([&] { open_movie(singles.path()); },
                             {"t_3.tif: is a link to gone.tif, which does not exist", "wrong numbers"});
}

TEST(OpenMovie, joins_what_the_content_says_is_continued) {
    const test::TemporaryFolder folder;
    write_tiff(folder / "b.ome.tif", 3, {.description = "<OME><UUID FileName=\"b_1.ome.tif\"/></OME>"});
    write_tiff(folder / "b_1.ome.tif", 2);
    EXPECT_EQ(open_movie(folder / "b.ome.tif")->info().frames, 5);
}

TEST(OpenMovie, movies_with_like_names_stay_two) {
    const test::TemporaryFolder folder;
    write_tiff(folder / "cell.tif", 3);
    write_tiff(folder / "cell_1.tif", 2);
    EXPECT_EQ(open_movie(folder / "cell.tif")->info().frames, 3);
}

TEST(OpenMovie, a_truncated_part_ends_the_movie) {
    const test::TemporaryFolder folder;
    const auto first = write_tiff(folder / "NDTiffStack.tif", 10);
    write_tiff(folder / "NDTiffStack_1.tif", 2);
    std::filesystem::resize_file(first, std::filesystem::file_size(first) - 400);
    const auto movie = open_movie(first);
    EXPECT_LT(movie->info().frames, 10);
    ASSERT_EQ(movie->info().warnings.size(), 2u);
    EXPECT_NE(movie->info().warnings[1].find("NDTiffStack_1.tif"), std::string::npos);
}

TEST(OpenMovie, continuations_that_are_listed_too_count_once) {
    const test::TemporaryFolder folder;
    const auto first = write_tiff(folder / "a_MMStack.ome.tif", 3),
               second = write_tiff(folder / "a_MMStack_1.ome.tif", 2);
    const auto other = write_tiff(folder / "other.tif", 4);
    EXPECT_EQ(open_joined_movie({first, second})->info().frames, 5);
    EXPECT_EQ(open_joined_movie({second, first})->info().frames, 5) << "as some shells sort them";
    EXPECT_EQ(open_joined_movie({other, second, folder.path() / "." / "a_MMStack.ome.tif"})->info().frames, 9);
    EXPECT_EQ(open_joined_movie({other, second})->info().frames, 6);
    expect_error<OptionError>([&] { open_joined_movie({other, folder.path() / "." / "other.tif"}); }, {"given twice"});
}

TEST(OpenMovie, an_unreadable_frame_is_named_as_the_movie_counts_it) {
    const test::TemporaryFolder folder;
    const auto first = write_tiff(folder / "a.tif", 3), second = write_tiff(folder / "b.tif", 2);
    const auto movie = open_joined_movie({first, second}), alone = open_movie(second);
    std::filesystem::resize_file(second, 100);
    FrameBlock block;
    expect_error<InputError>([&] { movie->read(2, 3, block); },
                             {"b.tif: frame 0 cannot be read", "the movie's frames before it", "`frames=0:3`"});
    expect_error<InputError>([&] { alone->read(0, 1, block); }, {"b.tif: frame 0", "copy the file again"});
}

// A decoder has a descriptor, too: half of the files need one.
TEST(OpenMovie, many_files_need_few_descriptors) {
    const test::TemporaryFolder folder;
    constexpr int n = 300;
    std::vector<std::filesystem::path> files;
    for (int k = 0; k < n; ++k) {
        test::TiffPageOptions page;
        page.width = 8 + std::uint32_t(k == n - 1);
        page.compression = k % 2 ? COMPRESSION_LZW : COMPRESSION_NONE;
        files.push_back(write_tiff(folder / (std::to_string(k) + ".tif"), 1, page));
    }
    rlimit before{};
    ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
    rlimit few = before;
    few.rlim_cur = 100;
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
    expect_error<InputError>([&] { open_joined_movie(files); }, {"299.tif (9x6", "does not continue 0.tif"});
    files.pop_back();
    const auto movie = open_joined_movie(files);
    EXPECT_EQ(movie->info().frames, n - 1);
    FrameBlock block;
    tbb::parallel_for(0, n - 1, [&](int k) {
        FrameBlock one;
        movie->read((k * 7) % (n - 1), 1, one);
        EXPECT_EQ(*one.frame(0), std::byte(test::pattern_byte(0, 0)));
    });
    movie->read(0, n - 1, block);
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
    const auto alone = open_movie(files[n / 2]);
    FrameBlock one;
    alone->read(0, 1, one);
    EXPECT_TRUE(std::equal(block.frame(n / 2), block.frame(n / 2) + block.frame_bytes(), one.frame(0)));
    std::filesystem::resize_file(files[5], 100);
    expect_error<InputError>([&] { movie->read(0, n - 1, block); }, {"5.tif"});
}
