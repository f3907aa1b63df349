// Opens a movie by its content.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

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

void add(const fs::path& path, Opened& opened) {
    if (begins_like_tiff(InputFile(path))) return add_tiff(path, opened);
    auto yaml = path;
    yaml.replace_extension(".yaml");
    if (!fs::exists(yaml) || yaml == path)
        throw InputError(fmt::format(
            "{}: is no movie: it does not begin like a TIFF, and {} is not beside it, which a raw movie needs",
            path.string(), yaml.filename().string()));
    opened.movies.push_back(open_raw_movie(path, yaml));
}

}  // namespace

std::unique_ptr<Movie> open_movie(const fs::path& path) { return open_joined_movie({path}); }

std::unique_ptr<Movie> open_joined_movie(const std::vector<fs::path>& paths) {
    Opened opened;
    for (const fs::path& path : without_continuations(paths)) add(path, opened);
    return concatenate(std::move(opened.movies), check_ome_sets(opened.tiffs));
}

}  // namespace glint
