// Imaris movies: padding, choices, and files whose sizes, chunks and parts do not agree.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "glint/error.hpp"
#include "glint/movie_io.hpp"
#include "io/hdf5/file.hpp"
#include "tests/expect_error.hpp"
#include "tests/temporary_folder.hpp"

using namespace glint;
using hdf5::Handle;
using test::expect_error;

namespace {

void put(hid_t place, const char* name, const std::string& text) {
    const Handle type(H5Tcopy(H5T_C_S1));
    const hsize_t count = text.size();
    const Handle space(H5Screate_simple(1, &count, nullptr));
    const Handle attribute(H5Acreate2(place, name, type, space, H5P_DEFAULT, H5P_DEFAULT));
    ASSERT_GE(H5Awrite(attribute, type, text.data()), 0);
}

Handle group(hid_t place, const std::string& name) {
    const Handle links(H5Pcreate(H5P_LINK_CREATE));
    H5Pset_create_intermediate_group(links, 1);
    return Handle(H5Gcreate2(place, name.c_str(), links, H5P_DEFAULT, H5P_DEFAULT));
}

/// A movie of one z plane, whose values are consecutive through all frames.
struct Ims {
    int times = 3, channels = 1;
    hsize_t height = 3, width = 5;
    hsize_t stored_height = 4, stored_width = 6;
    std::string x = "5", y = "3", z = "1";
    bool has_data = true, is_deflated = true, has_channels = true;
    double fill = 0;

    std::filesystem::path write(const test::TemporaryFolder& folder) const {
        const auto path = folder / "m.ims";
        const Handle file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
        const Handle image = group(file, "DataSetInfo/Image");
        put(image, "X", x), put(image, "Y", y), put(image, "Z", z), put(image, "Unit", "um");
        put(image, "ExtMin0", "0"), put(image, "ExtMin1", "0"), put(image, "ExtMax0", "0.5"),
            put(image, "ExtMax1", "0.3");
        for (int t = 0; t < times; ++t)
            for (int c = 0; c < channels; ++c) {
                const std::string name =
                    "DataSet/ResolutionLevel 0/TimePoint " + std::to_string(t) + (has_channels ? "/Channel " : "/C ");
                const Handle here = group(file, name + std::to_string(c));
                if (has_data) write_data(here, t * channels + c);
            }
        return path;
    }
    void write_data(hid_t place, int number) const {
        const hsize_t shape[] = {1, stored_height, stored_width}, chunk[] = {1, 2, 3};
        const Handle space(H5Screate_simple(3, shape, nullptr)), properties(H5Pcreate(H5P_DATASET_CREATE));
        const auto fill_value = std::uint16_t(fill);
        H5Pset_chunk(properties, 3, chunk);
        if (is_deflated) H5Pset_deflate(properties, 1);
        if (fill != 0) H5Pset_fill_value(properties, H5T_NATIVE_UINT16, &fill_value);
        const Handle dataset(H5Dcreate2(place, "Data", H5T_STD_U16LE, space, H5P_DEFAULT, properties, H5P_DEFAULT));
        std::vector<std::uint16_t> values(stored_height * stored_width);
        std::iota(values.begin(), values.end(), std::uint16_t(1000 * number));
        ASSERT_GE(H5Dwrite(dataset, H5T_NATIVE_UINT16, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), 0);
    }
};

std::vector<std::uint16_t> frame_of(Movie& movie, std::int64_t frame) {
    FrameBlock block;
    movie.read(frame, 1, block);
    std::vector<std::uint16_t> out(std::size_t(block.width) * std::size_t(block.height));
    std::memcpy(out.data(), block.frame(0), out.size() * 2);
    return out;
}

}  // namespace

TEST(ImsMovie, leaves_the_padding_of_chunks_out) {
    const test::TemporaryFolder folder;
    for (const bool is_deflated : {false, true}) {
        const auto movie = open_movie(Ims{.is_deflated = is_deflated}.write(folder));
        EXPECT_EQ(movie->info().frames, 3);
        EXPECT_EQ(movie->info().width, 5);
        EXPECT_NEAR(movie->info().pixel_size_nm.value(), 100, 1e-9);
        EXPECT_EQ(frame_of(*movie, 2), (std::vector<std::uint16_t>{2000, 2001, 2002, 2003, 2004, 2006, 2007, 2008, 2009,
                                                                   2010, 2012, 2013, 2014, 2015, 2016}));
    }
}

TEST(ImsMovie, needs_a_channel_of_several) {
    const test::TemporaryFolder folder;
    const auto path = Ims{.channels = 2}.write(folder);
    expect_error<OptionError>([&] { open_movie(path); }, {"m.ims: has 2 channels"});
    EXPECT_EQ(frame_of(*open_movie(path, {.channel = "1"}), 1)[0], 3000);
}

TEST(ImsMovie, refuses_what_does_not_agree) {
    const test::TemporaryFolder folder;
    const auto refused = [&](const Ims& ims, std::initializer_list<const char*> parts) {
        const auto path = ims.write(folder);
        expect_error<InputError>([&] { open_movie(path); }, parts);
    };
    refused({.x = "7"}, {"m.ims: TimePoint 0/Channel 0 has 1x4x6 values for 1x3x7 pixels"});
    refused({.x = "-3"}, {"`ImageSizeX` is -3, outside 1 to 65535"});
    refused({.y = "many"}, {"`ImageSizeY` is 0"});
    refused({.z = "1e300"}, {"`ImageSizeZ` is 1e+300"});
    refused({.times = 0}, {"neither DataSet/ResolutionLevel 0 of Imaris"});
    refused({.has_channels = false}, {"has no TimePoint 0/Channel 0"});
    refused({.has_data = false}, {"Data is missing"});
    refused({.fill = 3}, {"another fill value than 0"});
}

TEST(ImsMovie, other_hdf5_files_are_reported) {
    const test::TemporaryFolder folder;
    const auto path = folder / "locs.hdf5";
    {
        const Handle file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
        const Handle locs = group(file, "locs");
    }
    expect_error<InputError>([&] { open_movie(path); }, {"locs.hdf5: is a table, and no movie"});
    const auto other = folder / "other.hdf5";
    {
        const Handle file(H5Fcreate(other.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
        const Handle data = group(file, "data");
    }
    expect_error<InputError>([&] { open_movie(other); },
                             {"other.hdf5: is an HDF5 file without a movie", "data", "(frames, y, x)"});
}

TEST(ImsMovie, claims_are_compared_with_the_file) {
    const test::TemporaryFolder folder;
    const auto path = Ims{.stored_height = 64, .stored_width = 66, .is_deflated = false}.write(folder);
    const auto movie = open_movie(path);
    std::filesystem::resize_file(path, 1000);
    FrameBlock block;
    expect_error<InputError>([&] { movie->read(2, 1, block); }, {"m.ims: frame 2 cannot be read"});
    expect_error<InputError>([&] { open_movie(path); }, {"damaged or truncated HDF5 file"});
    // A dataset that claims more than was ever written.
    const Ims huge{.times = 1};
    const auto empty = huge.write(folder);
    {
        const Handle file(H5Fopen(empty.c_str(), H5F_ACC_RDWR, H5P_DEFAULT));
        const Handle place(H5Gopen2(file, "DataSet/ResolutionLevel 0/TimePoint 0/Channel 0", H5P_DEFAULT));
        H5Ldelete(place, "Data", H5P_DEFAULT);
        const hsize_t shape[] = {1, 60000, 60000}, chunk[] = {1, 1, 1};
        const Handle space(H5Screate_simple(3, shape, nullptr)), properties(H5Pcreate(H5P_DATASET_CREATE));
        H5Pset_chunk(properties, 3, chunk);
        const Handle dataset(H5Dcreate2(place, "Data", H5T_STD_U16LE, space, H5P_DEFAULT, properties, H5P_DEFAULT));
    }
    expect_error<InputError>([&] { open_movie(empty); }, {"Data claims 7200000000 bytes, and 0 are stored"});
}
