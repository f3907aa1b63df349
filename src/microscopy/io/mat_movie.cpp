// Movies in MATLAB files: an array of rows, columns and frames.
// SPDX-License-Identifier: MIT
#include "io/mat_movie.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "glint/error.hpp"
#include "io/files/input_file.hpp"
#include "io/mat73_movie.hpp"
#include "io/mat_arrays.hpp"
#include "io/movie_readers.hpp"
#include "io/packed_bytes.hpp"
#include "io/plain_movie.hpp"
#include "io/planes.hpp"

namespace glint {
namespace {

int edge_px(std::int64_t px) { return int(std::clamp<std::int64_t>(px, -1, 65536)); }  // others are refused later

void check_bytes(const MatArray& array, std::uint64_t expected, const std::string& name) {
    if (array.bytes != expected)
        throw InputError(
            fmt::format("{}: its array {} has {} bytes of numbers, and should have {}: the file is damaged", name,
                        array.described(), array.bytes, expected));
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
        check_bytes(array,
                    std::uint64_t(frames.info.height) * frames.info.width * frames.info.frames * bytes_of(array.stored),
                    path.string());
    if (array.packed_bytes)
        frames.source =
            std::make_shared<PackedBytes>(path, array.packed_at, array.packed_bytes, array.first_byte + array.bytes);
    return plain_movie(path, std::move(frames));
}

namespace {

bool is_mat(const InputFile& file, const std::filesystem::path&) { return mat_version(file) != MatVersion::none; }

std::unique_ptr<Movie> open_mat(const std::filesystem::path& path, const MovieChoice& choice) {
    require_single_planes(choice, path.string());
    const InputFile file(path);
    if (mat_version(file) == MatVersion::hdf5) return open_mat73(path);
    const MatFile mat = read_mat(file);
    return movie_of_array(path, movie_of(mat.arrays, file.name()), mat.big_endian);
}

}  // namespace

constinit const MovieFormat mat_movies{
    {"MATLAB .mat", "", ".mat", "complex and logical arrays; -v4"}, is_mat, open_mat};

}  // namespace glint
