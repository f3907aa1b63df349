// The readers behind open_movie, one per format. One more is a file that defines it, and a line in movie_formats.inc.
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <memory>

#include "glint/movie.hpp"
#include "glint/movie_choice.hpp"
#include "glint/movie_formats.hpp"
#include "io/files/input_file.hpp"
#include "io/planes.hpp"
#include "io/tiff/ome_xml.hpp"

namespace glint {

struct EarlierLooks;

struct TiffMovieFile {
    std::unique_ptr<Movie> movie;
    bool truncated = false;  ///< some frames are lost
    OmeMovie ome;            ///< what its OME metadata say
    std::vector<Axis> axes;  ///< of the planes of the whole movie, which may go on in other files; none: frames alone
};

/// One TIFF file, page after page. Throws InputError. `looks`: of a movie that grows, as open_joined_movie() for the next look has them.
TiffMovieFile open_tiff_movie(const std::filesystem::path& path, EarlierLooks* looks = nullptr);

/// A format of movies in one file (TIFF, whose movies may have several files, is a case of its own).
struct MovieFormat {
    MovieFormatText text;
    bool (*is)(const InputFile& file, const std::filesystem::path& path);  ///< by its content, and companions beside it
    /// Throws InputError; OptionError for a choice that is missing or does not exist (chosen_planes()).
    std::unique_ptr<Movie> (*open)(const std::filesystem::path& path, const MovieChoice& choice);
};

/// A format of movies that are folders.
struct FolderFormat {
    MovieFormatText text;
    bool (*is)(const std::filesystem::path& folder);
    bool (*is_part)(
        const std::filesystem::path& file);  ///< by its name: a file of such a folder opens all of it; null: none does
    std::unique_ptr<Movie> (*open)(const std::filesystem::path& folder, const MovieChoice& choice, EarlierLooks* looks);
};

#define GLINT_MOVIE_FILE(name) extern const MovieFormat name##_movies;
#define GLINT_MOVIE_FOLDER(name) extern const FolderFormat name##_movies;
#include "io/movie_formats.inc"
#undef GLINT_MOVIE_FILE
#undef GLINT_MOVIE_FOLDER

/// NDTiff of Micro-Manager: NDTiff.index is in the folder.
bool is_ndtiff(const std::filesystem::path& folder);

/// Throws InputError that says what to do instead, for a format that is known by its first bytes and not read.
void refuse_foreign(const InputFile& file);
/// For spooled frames of Andor without their description: throws InputError that says what to do.
void refuse_spooled(const std::filesystem::path& path);
/// For a table of localizations: throws InputError that says so.
[[noreturn]] void refuse_table(const std::filesystem::path& path);

/// The only dataset of (frames, y, x) in an HDF5 file; of several, `choice.position` says which.
std::unique_ptr<Movie> open_hdf5_dataset(const std::filesystem::path& path, const MovieChoice& choice);

}  // namespace glint
