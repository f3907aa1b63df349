// Movies in MATLAB files: an array of rows, columns and frames, which version 7.3, HDF5 behind MATLAB's header, holds
// as (frames, columns, rows).
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "glint/error.hpp"
#include "glint/movie.hpp"
#include "io/files/input_file.hpp"
#include "io/hdf5/chunked_array.hpp"
#include "io/hdf5/dataset_movie.hpp"
#include "io/hdf5/file.hpp"
#include "io/mat_arrays.hpp"
#include "io/movie_readers.hpp"
#include "io/packed_bytes.hpp"
#include "io/plain_movie.hpp"
#include "io/planes.hpp"

namespace glint {
namespace {

/// Returns a dataset of the file's root; invalid for links, groups and damaged objects.
hdf5::Handle dataset_of(hid_t file, const std::string& name) {
    H5L_info_t link;
    if (H5Lget_info(file, name.c_str(), &link, H5P_DEFAULT) < 0 || link.type != H5L_TYPE_HARD) return {};
    H5O_info_t info;
    if (H5Oget_info_by_name(file, name.c_str(), &info, H5P_DEFAULT) < 0 || info.type != H5O_TYPE_DATASET) return {};
    return hdf5::Handle(H5Dopen2(file, name.c_str(), H5P_DEFAULT));
}

/// Returns false for masks and text, which are also stored as whole numbers.
bool holds_numbers(hid_t dataset) {
    const std::string matlab_class = hdf5::read_string_attribute(dataset, "MATLAB_class").value_or("");
    return matlab_class != "logical" && matlab_class != "char";
}

std::vector<MatArray> arrays_of(hid_t file) {
    std::vector<MatArray> arrays;
    for (const std::string& name : hdf5::names_in(file)) {
        const hdf5::Handle dataset = dataset_of(file, name);
        if (!dataset.valid()) continue;
        const hdf5::Handle type(H5Dget_type(dataset));
        const auto shape = hdf5::shape_of(dataset);
        const auto stored = hdf5::stored_type(type);
        MatArray array;
        array.name = name;
        array.dimensions.assign(shape.rbegin(), shape.rend());
        if (stored && !hdf5::three_dimensions(shape).empty() && holds_numbers(dataset))
            array.type = movie_type(stored->pixel);
        arrays.push_back(std::move(array));
    }
    return arrays;
}

/// The only array of numbers of three dimensions. Throws InputError.
std::unique_ptr<Movie> open_mat73(const std::filesystem::path& path) {
    const hdf5::Quiet quiet;
    const hdf5::Handle file = hdf5::open_file(path);
    const MatArray array = movie_of(arrays_of(file), path.string());
    const hdf5::Handle dataset = hdf5::open_dataset(file, array.name.c_str(), path);
    return hdf5::movie_of_dataset(path, dataset, array.name, true);
}

// larger sizes are rejected later
int edge_px(std::int64_t px) { return int(std::clamp<std::int64_t>(px, -1, 65536)); }

void check_bytes(const MatArray& array, std::uint64_t expected, const std::string& name) {
    if (array.bytes != expected)
        throw InputError(
            fmt::format("{}: its array {} has {} bytes of numbers, and should have {}: the file is damaged", name,
                        array.described(), array.bytes, expected));
}

bool is_mat(const InputFile& file, const std::filesystem::path&) { return mat_version(file) != MatVersion::none; }

std::unique_ptr<Movie> open_mat(const std::filesystem::path& path, const MovieChoice& choice) {
    require_single_planes(choice, path.string());
    const InputFile file(path);
    if (mat_version(file) == MatVersion::hdf5) return open_mat73(path);
    const MatFile mat = read_mat(file);
    return movie_of_array(path, movie_of(mat.arrays, file.name()), mat.big_endian);
}

}  // namespace

std::unique_ptr<Movie> movie_of_array(const std::filesystem::path& path, const MatArray& array, bool big_endian) {
    PlainFrames frames;
    frames.info.height = edge_px(array.dimensions[0]);
    frames.info.width = edge_px(array.dimensions[1]);
    frames.info.frames = array.dimensions[2];
    frames.stored = array.stored;
    frames.type = array.type;
    frames.big_endian = big_endian;
    frames.columns_first = true;
    frames.first_byte = array.first_byte;
    if (frames.info.height > 0 && frames.info.width > 0 && frames.info.frames > 0)
        check_bytes(
            array, std::uint64_t(frames.info.height) * frames.info.width * frames.info.frames * num_bytes(array.stored),
            path.string());
    if (array.packed_bytes)
        frames.source =
            std::make_shared<PackedBytes>(path, array.packed_at, array.packed_bytes, array.first_byte + array.bytes);
    return plain_movie(path, std::move(frames));
}

constinit const MovieFormat mat_movies{
    {"MATLAB .mat", "", ".mat", "complex and logical arrays; -v4"}, is_mat, open_mat};

}  // namespace glint
