// Opening a movie by its content.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "glint/error.hpp"
#include "glint/movie_io.hpp"
#include "io/continuation.hpp"
#include "io/input_file.hpp"
#include "io/movie_readers.hpp"

namespace glint {
namespace {

/// The movie and the files that continue it.
std::unique_ptr<Movie> open_tiff_with_continuations(const std::filesystem::path& path) {
    const auto files = continuations(path);
    std::vector<std::unique_ptr<Movie>> parts;
    for (std::size_t k = 0;; ++k) {
        auto [movie, truncated] = open_tiff_movie(k == 0 ? path : files[k - 1], k < files.size() ? files[k] : "");
        parts.push_back(std::move(movie));
        if (truncated || k == files.size()) return concatenate(std::move(parts));
    }
}

}  // namespace

std::unique_ptr<Movie> open_movie(const std::filesystem::path& path) {
    if (begins_like_tiff(InputFile(path))) return open_tiff_with_continuations(path);
    auto yaml = path;
    yaml.replace_extension(".yaml");
    if (std::filesystem::exists(yaml) && yaml != path) return open_raw_movie(path, yaml);
    throw InputError(
        fmt::format("{}: is no movie: it does not begin like a TIFF, and {} is not beside it, which a raw movie needs",
                    path.string(), yaml.filename().string()));
}

}  // namespace glint
