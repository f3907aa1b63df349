// The readers behind open_movie, one per format. One more is a file that defines it, and its name in GLINT_MOVIE_FILES
// or GLINT_MOVIE_FOLDERS.
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
    /// of the planes of the whole movie, which may continue in other files; empty: only frames
    std::vector<Axis> axes;
};

/// Opens one TIFF file, page after page. `looks`: the scan state of a growing movie, as for open_joined_movie().
/// Throws InputError.
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

// The formats of movies, in the order in which a file or folder is compared with them. Each is defined at the end
// of its file: NAME_movies. Picasso's raw movies are the last of the files: any file with a .yaml beside it may be
// one, and tables have one, too. A folder of TIFF files is the last of the folders, since any folder may be one.
// TIFF files, whose movies may continue in other files, are a case of their own (open_movie.cpp).
// clang-format off
#define GLINT_MOVIE_FILES(X) \
    X(nd2) \
    X(czi) \
    X(lif) \
    X(sif) \
    X(dcimg) \
    X(dax) \
    X(spe) \
    X(fits) \
    X(mat) \
    X(hdf5) \
    X(npy) \
    X(png) \
    X(raw)
#define GLINT_MOVIE_FOLDERS(X) \
    X(zarr) \
    X(ndtiff) \
    X(spool) \
    X(png_folder) \
    X(tiff_folder)
// clang-format on

#define GLINT_DECLARE(name) extern const MovieFormat name##_movies;
GLINT_MOVIE_FILES(GLINT_DECLARE)
#undef GLINT_DECLARE
#define GLINT_DECLARE(name) extern const FolderFormat name##_movies;
GLINT_MOVIE_FOLDERS(GLINT_DECLARE)
#undef GLINT_DECLARE

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
