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
    std::vector<Axis> axes;  ///< of a set of TIFFs of which one alone has not all planes
};

/// Whether planes of several channels, z or positions lie in the movie, or could.
bool holds_all(const Movie& movie, const std::vector<Axis>& axes, bool truncated) {
    const std::int64_t frames = movie.info().frames, planes = count_of(axes);
    return planes == frames || (truncated && frames < planes);
}

/// The file and those that continue it.
void add_tiff(const fs::path& path, const MovieChoice& choice, Opened& opened) {
    const auto files = continuations(path);
    std::vector<std::unique_ptr<Movie>> parts;
    std::vector<Axis> axes;
    bool broken = false;
    for (std::size_t k = 0; k <= files.size() && !broken; ++k) {
        const fs::path& file = k == 0 ? path : files[k - 1];
        auto part = open_tiff_movie(file, k < files.size() ? files[k] : "");
        broken = part.truncated;
        if (k == 0) axes = std::move(part.axes);
        opened.tiffs.push_back({file, part.movie->info().frames, part.truncated, std::move(part.ome)});
        parts.push_back(std::move(part.movie));
    }
    auto movie = concatenate(std::move(parts));
    if (axes.empty())
        require_single_planes(choice, path.string());
    else if (holds_all(*movie, axes, broken))
        movie = picked(std::move(movie), chosen_planes(axes, choice, path.string()));
    else
        opened.axes = std::move(axes);
    opened.movies.push_back(std::move(movie));
}

/// Picks from all files of a set together.
std::unique_ptr<Movie> picked_of_set(std::unique_ptr<Movie> movie, const std::vector<Axis>& axes,
                                     const MovieChoice& choice) {
    const MovieInfo& info = movie->info();
    if (holds_all(*movie, axes, true)) return picked(std::move(movie), chosen_planes(axes, choice, info.name));
    throw InputError(
        fmt::format("{}: its metadata say that the {} planes of several channels, z planes or positions lie in it, and "
                    "it has {}: which of "
                    "them are one movie is not known. Save that movie alone",
                    info.name, count_of(axes), info.frames));
}

// Picasso's raw movies are the last: any file with a .yaml beside it may be one, and tables of localizations have one, too.
constexpr MovieFormat formats[] = {
    {"ND2", is_nd2, open_nd2},         {"DAX", is_dax, open_dax},    {"SPE", is_spe, open_spe},
    {"FITS", is_fits, open_fits},      {"MATLAB", is_mat, open_mat}, {"Imaris", is_hdf5_movie, open_ims},
    {"Picasso raw", is_raw, open_raw},
};

// Any folder may be one of TIFFs: the last.
constexpr FolderFormat folder_formats[] = {
    {"Zarr", is_zarr, open_zarr},
    {"NDTiff", is_ndtiff, open_ndtiff},
    {"folder of TIFFs", is_tiff_folder, open_tiff_folder},
};

std::unique_ptr<Movie> open_folder(const fs::path& folder, const MovieChoice& choice) {
    const auto format = std::find_if(std::begin(folder_formats), std::end(folder_formats),
                                     [&](const FolderFormat& one) { return one.is(folder); });
    return format->open(folder, choice);
}

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
    if (fs::is_directory(path, ignored)) return opened.movies.push_back(open_folder(path, choice));
    const InputFile file(path);
    const bool of_ndtiff =
        path.filename().string().find("NDTiffStack") != std::string::npos && is_ndtiff(path.parent_path());
    if (of_ndtiff) return opened.movies.push_back(open_ndtiff(path.parent_path(), choice));
    if (begins_like_tiff(file)) return add_tiff(path, choice, opened);
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
    auto warnings = check_ome_sets(opened.tiffs);
    auto movie = concatenate(std::move(opened.movies), std::move(warnings));
    return opened.axes.empty() ? std::move(movie) : picked_of_set(std::move(movie), opened.axes, choice);
}

}  // namespace glint
