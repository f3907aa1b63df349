// Movies in MATLAB files of version 5 to 7: an array of rows, columns and frames.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "glint/error.hpp"
#include "io/files/input_file.hpp"
#include "io/mat_arrays.hpp"
#include "io/movie_readers.hpp"
#include "io/packed_bytes.hpp"
#include "io/plain_movie.hpp"
#include "io/planes.hpp"

namespace glint {
namespace {

constexpr std::size_t most_listed = 20;

std::string listed(const std::vector<MatArray>& arrays) {
    std::vector<std::string> out;
    for (const MatArray& array : arrays) {
        if (out.size() == most_listed)
            return fmt::format("{}, and {} more", fmt::join(out, ", "), arrays.size() - most_listed);
        out.push_back(array.described());
    }
    return out.empty() ? "none" : fmt::format("{}", fmt::join(out, ", "));
}

/// The only array that can be a movie.
MatArray movie_of(const MatFile& mat, const std::string& name) {
    std::vector<MatArray> movies;
    std::copy_if(mat.arrays.begin(), mat.arrays.end(), std::back_inserter(movies),
                 [](const MatArray& array) { return array.is_numeric() && array.dimensions.size() == 3; });
    if (movies.empty())
        throw InputError(
            fmt::format("{}: has no movie, which is an array of numbers of (height, width, frames); its variables: {}",
                        name, listed(mat.arrays)));
    if (movies.size() > 1)
        throw InputError(
            fmt::format("{}: has {} arrays that can be a movie: {}; save one alone: save('movie.mat', '{}')", name,
                        movies.size(), listed(movies), movies[0].name));
    return movies[0];
}

int edge(std::int64_t px) { return int(std::clamp<std::int64_t>(px, -1, 65536)); }  // others are refused later

void check_bytes(const MatArray& array, std::uint64_t expected, const std::string& name) {
    if (array.bytes != expected)
        throw InputError(
            fmt::format("{}: its array {} has {} bytes of numbers, and should have {}: the file is damaged", name,
                        array.described(), array.bytes, expected));
}

}  // namespace

bool is_mat(const InputFile& file, const std::filesystem::path&) { return mat_version(file) != MatVersion::none; }

std::unique_ptr<Movie> open_mat(const std::filesystem::path& path, const MovieChoice& choice) {
    require_single_planes(choice, path.string());
    const InputFile file(path);
    if (mat_version(file) == MatVersion::hdf5)
        throw InputError(
            fmt::format("{}: is a MATLAB file of version 7.3, which is not read: save the movie without -v7.3, or "
                        "one above 2 GB as TIFF",
                        file.name()));
    const MatFile mat = read_mat(file);
    const MatArray array = movie_of(mat, file.name());
    PlainFrames frames;
    frames.info.height = edge(array.dimensions[0]);
    frames.info.width = edge(array.dimensions[1]);
    frames.info.frames = array.dimensions[2];
    frames.stored = array.stored;
    frames.type = array.type;
    frames.big_endian = mat.big_endian;
    frames.columns_first = true;
    frames.first_byte = array.first_byte;
    if (frames.info.height > 0 && frames.info.width > 0 && frames.info.frames > 0)
        check_bytes(array,
                    std::uint64_t(frames.info.height) * frames.info.width * frames.info.frames * bytes_of(array.stored),
                    file.name());
    if (array.packed_bytes)
        frames.source =
            std::make_shared<PackedBytes>(path, array.packed_at, array.packed_bytes, array.first_byte + array.bytes);
    return plain_movie(path, std::move(frames));
}

}  // namespace glint
