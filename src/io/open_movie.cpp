// Opens a movie by its content.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>

#include "data/joined_movie.hpp"
#include "glint/error.hpp"
#include "glint/movie_io.hpp"
#include "io/continuation.hpp"
#include "io/files/input_file.hpp"
#include "io/movie_readers.hpp"
#include "io/tiff/ome_set.hpp"

namespace glint {
namespace {

namespace fs = std::filesystem;

/// The files of one movie, opened one after the other.
struct Opened {
    std::vector<std::unique_ptr<Movie>> movies;
    std::vector<OmePart> tiffs;
};

/// The file and those that continue it.
void add_tiff(const fs::path& path, Opened& opened) {
    const auto files = continuations(path);
    for (std::size_t k = 0; k <= files.size(); ++k) {
        const fs::path& file = k == 0 ? path : files[k - 1];
        auto [movie, truncated, ome] = open_tiff_movie(file, k < files.size() ? files[k] : "");
        opened.tiffs.push_back({file, movie->info().frames, truncated, std::move(ome)});
        opened.movies.push_back(std::move(movie));
        if (truncated) return;
    }
}

constexpr MovieFormat formats[] = {
    {"ND2", is_nd2, open_nd2}, {"Imaris", is_hdf5_movie, open_ims}, {"Picasso raw", is_raw, open_raw}};

constexpr FolderFormat folder_formats[] = {{"Zarr", is_zarr, open_zarr}};

[[noreturn]] void refuse(const fs::path& path) {
    auto yaml = path;
    yaml.replace_extension(".yaml");
    throw InputError(
        fmt::format("{}: is no movie: it does not begin like a TIFF or another format that glint reads, and {} is not "
                    "beside it, which a "
                    "raw movie needs",
                    path.string(), yaml.filename().string()));
}

void add(const fs::path& path, const MovieChoice& choice, Opened& opened) {
    std::error_code ignored;  // what is wrong with a path, opening it says
    if (fs::is_directory(path, ignored))
        for (const FolderFormat& format : folder_formats)
            if (format.is(path)) return opened.movies.push_back(format.open(path, choice));
    const InputFile file(path);
    if (begins_like_tiff(file)) return add_tiff(path, opened);
    const auto format = std::find_if(std::begin(formats), std::end(formats),
                                     [&](const MovieFormat& one) { return one.is(file, path); });
    if (format == std::end(formats)) refuse_foreign(file);
    if (format == std::end(formats)) refuse(path);
    opened.movies.push_back(format->open(path, choice));
}

}  // namespace

std::unique_ptr<Movie> open_movie(const fs::path& path, const MovieChoice& choice) {
    return open_joined_movie({path}, choice);
}

std::unique_ptr<Movie> open_joined_movie(const std::vector<fs::path>& paths, const MovieChoice& choice) {
    Opened opened;
    for (const fs::path& path : without_continuations(paths)) add(path, choice, opened);
    return concatenate(std::move(opened.movies), check_ome_sets(opened.tiffs));
}

}  // namespace glint
