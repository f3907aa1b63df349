// Movies in MATLAB files of version 7.3: storage, chunks of several frames, files with false claims.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <fstream>

#include "glint/error.hpp"
#include "glint/movie_io.hpp"
#include "io/hdf5/file.hpp"
#include "tests/expect_error.hpp"
#include "tests/movie_bytes.hpp"
#include "tests/temporary_folder.hpp"

using namespace glint;
using namespace glint::test;
using hdf5::Handle;

namespace {

struct Dataset {
    std::string name = "movie";
    std::vector<hsize_t> shape = {5, 4, 3};  ///< frames, columns, rows
    std::vector<hsize_t> chunk = {};         ///< none: contiguous
    hid_t stored = H5T_STD_U16LE;
    bool deflates = false, shuffles = false, checksums = false, is_empty = false;
};

void write_dataset(hid_t file, const Dataset& dataset, const std::vector<std::uint16_t>& numbers) {
    const Handle space(H5Screate_simple(int(dataset.shape.size()), dataset.shape.data(), nullptr));
    const Handle properties(H5Pcreate(H5P_DATASET_CREATE));
    if (!dataset.chunk.empty()) H5Pset_chunk(properties, int(dataset.chunk.size()), dataset.chunk.data());
    if (dataset.shuffles) H5Pset_shuffle(properties);
    if (dataset.deflates) H5Pset_deflate(properties, 3);
    if (dataset.checksums) H5Pset_fletcher32(properties);
    const Handle made(
        H5Dcreate2(file, dataset.name.c_str(), dataset.stored, space, H5P_DEFAULT, properties, H5P_DEFAULT));
    ASSERT_TRUE(made.valid());
    if (dataset.is_empty) return;
    ASSERT_GE(H5Dwrite(made, H5T_NATIVE_UINT16, H5S_ALL, H5S_ALL, H5P_DEFAULT, numbers.data()), 0);
}

/// Writes a file as MATLAB does: a header of 512 bytes, followed by HDF5.
std::filesystem::path write_mat(const TemporaryFolder& folder, const std::vector<Dataset>& datasets,
                                const std::vector<std::uint16_t>& numbers) {
    const auto path = folder / "movie.mat";
    {
        const Handle creation(H5Pcreate(H5P_FILE_CREATE));
        H5Pset_userblock(creation, 512);
        const Handle file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, creation, H5P_DEFAULT));
        for (const Dataset& dataset : datasets) write_dataset(file, dataset, numbers);
    }
    std::string header = "MATLAB 7.3 MAT-file, Platform: GLNXA64 HDF5 schema 1.00 .";
    header.resize(124, ' ');
    std::fstream(path, std::ios::in | std::ios::out | std::ios::binary) << header << std::string("\0\2IM", 4);
    return path;
}

const auto counts = counting<std::uint16_t>(5 * 4 * 3, 513);

/// Converts columns of three pixels to rows of four.
template <class Read>
std::vector<Read> rows_first() {
    std::vector<Read> out(counts.size());
    for (std::size_t k = 0; k < counts.size(); ++k) out[k / 12 * 12 + k % 3 * 4 + k % 12 / 3] = Read(counts[k]);
    return out;
}

template <class Read>
void reads(const Dataset& dataset) {
    const TemporaryFolder folder;
    const auto movie = open_movie(write_mat(folder, {dataset}, counts));
    EXPECT_EQ(movie->info().height, 3);
    EXPECT_EQ(movie->info().width, 4);
    EXPECT_EQ(movie->info().frames, 5);
    EXPECT_EQ(movie->info().name, "movie.mat");
    EXPECT_TRUE(movie->info().warnings.empty());
    const auto expected = rows_first<Read>();
    EXPECT_EQ(pixels<Read>(*movie), expected);
    for (int first = 0; first < 5; ++first)
        EXPECT_EQ(pixels<Read>(*movie, first, 1),
                  std::vector<Read>(expected.begin() + 12 * first, expected.begin() + 12 * (first + 1)));
    EXPECT_EQ(pixels<Read>(*movie, 1, 3), std::vector<Read>(expected.begin() + 12, expected.begin() + 48));
}

}  // namespace

TEST(Mat73Movie, reads_all_ways_of_storage) {
    reads<std::uint16_t>({});
    reads<std::uint16_t>({.stored = H5T_STD_U16BE});
    for (const std::vector<hsize_t>& chunk : {std::vector<hsize_t>{1, 4, 3}, {5, 4, 3}, {2, 3, 2}, {2, 1, 3}}) {
        reads<std::uint16_t>({.chunk = chunk});
        reads<std::uint16_t>({.chunk = chunk, .deflates = true});
        reads<std::uint16_t>({.chunk = chunk, .stored = H5T_STD_U16BE, .deflates = true, .shuffles = true});
        reads<float>({.chunk = chunk, .stored = H5T_IEEE_F64LE, .deflates = true, .shuffles = true});
    }
}

TEST(Mat73Movie, reads_all_classes) {
    for (const hid_t stored :
         {H5T_STD_I16LE, H5T_STD_U32LE, H5T_STD_I32LE, H5T_STD_U64LE, H5T_STD_I64LE, H5T_IEEE_F32LE, H5T_IEEE_F64LE}) {
        reads<float>({.stored = stored});
        reads<float>({.chunk = {2, 4, 2}, .stored = stored, .deflates = true});
    }
}

TEST(Mat73Movie, chunks_that_are_not_stored_are_dark) {
    const TemporaryFolder folder;
    const auto path = write_mat(folder, {{.chunk = {1, 4, 3}}}, counts);
    {
        const Handle file(H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT));
        write_dataset(file, {.name = "gain", .shape = {1, 1}}, counts);
        const hsize_t longer[] = {6, 4, 3};
        const Handle space(H5Screate_simple(3, longer, nullptr)), properties(H5Pcreate(H5P_DATASET_CREATE));
        const hsize_t chunk[] = {1, 4, 3}, first[] = {0, 0, 0}, one[] = {1, 4, 3};
        H5Pset_chunk(properties, 3, chunk);
        ASSERT_GE(H5Ldelete(file, "movie", H5P_DEFAULT), 0);
        const Handle sparse(H5Dcreate2(file, "movie", H5T_STD_U16LE, space, H5P_DEFAULT, properties, H5P_DEFAULT));
        H5Sselect_hyperslab(space, H5S_SELECT_SET, first, nullptr, one, nullptr);
        const Handle memory(H5Screate_simple(3, one, nullptr));
        ASSERT_GE(H5Dwrite(sparse, H5T_NATIVE_UINT16, memory, space, H5P_DEFAULT, counts.data()), 0);
    }
    // Claims 6 frames of 24 bytes, of which 24 are stored: within what a packed dataset may claim.
    const auto movie = open_movie(path);
    EXPECT_EQ(pixels<std::uint16_t>(*movie, 0, 1)[0], 513);
    EXPECT_EQ(pixels<std::uint16_t>(*movie, 5, 1), std::vector<std::uint16_t>(12, 0));
}

TEST(Mat73Movie, names_the_variables_where_none_or_several_can_be_the_movie) {
    const TemporaryFolder folder;
    const Dataset gain{.name = "gain", .shape = {1, 1}};
    const auto none = write_mat(folder, {gain}, counts);
    expect_error<InputError>([&] { open_movie(none); }, {"movie.mat: has no movie", "gain (1 x 1)"});
    const auto two = write_mat(folder, {gain, {.name = "a"}, {.name = "b"}}, counts);
    expect_error<InputError>([&] { open_movie(two); }, {"2 arrays", "a (3 x 4 x 5), b (3 x 4 x 5)", "save"});
    EXPECT_EQ(open_movie(write_mat(folder, {gain, {}}, counts))->info().frames, 5);
}

TEST(Mat73Movie, says_what_it_does_not_read) {
    const TemporaryFolder folder;
    const auto checksums = write_mat(folder, {{.chunk = {1, 4, 3}, .deflates = true, .checksums = true}}, counts);
    expect_error<InputError>([&] { open_movie(checksums); }, {"movie.mat: movie", "filter 3", "h5repack"});
    const auto empty = write_mat(folder, {{.chunk = {1, 4, 3}, .is_empty = true}}, counts);
    expect_error<InputError>([&] { open_movie(empty); }, {"movie.mat: movie claims"});
    const auto wide = write_mat(folder, {{.shape = {1, 65536, 1}, .chunk = {1, 65536, 1}, .is_empty = true}}, counts);
    expect_error<InputError>([&] { open_movie(wide); }, {"movie.mat"});
    const auto path = write_mat(folder, {{}}, counts);
    std::filesystem::resize_file(path, std::filesystem::file_size(path) - 50);
    expect_error<InputError>([&] { open_movie(path); }, {"movie.mat"});
    const auto bare = folder.write("bare.mat", read_bytes(path).substr(0, 512));
    expect_error<InputError>([&] { open_movie(bare); }, {"bare.mat", "HDF5"});
}

TEST(Mat73Movie, a_chunk_that_is_damaged_later_is_reported_with_its_frame) {
    const TemporaryFolder folder;
    const auto path = write_mat(folder, {{.chunk = {2, 4, 3}, .deflates = true}}, counts);
    const auto movie = open_movie(path);
    std::filesystem::resize_file(path, 600);
    FrameBlock block;
    expect_error<InputError>([&] { movie->read(3, 2, block); }, {"movie.mat: frame 3", "`frames=0:3`"});
}
