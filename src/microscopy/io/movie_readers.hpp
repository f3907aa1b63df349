// The readers behind open_movie(), one per format. To add a format, write a file that defines it, and add its name to
// GLINT_MOVIE_FILES or GLINT_MOVIE_FOLDERS.
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

struct ScanState;

struct TiffMovieFile {
    std::unique_ptr<Movie> movie;
    bool truncated = false;  ///< some frames are lost
    OmeMovie ome;            ///< from its OME metadata
    /// of the planes of the whole movie, which may continue in other files; empty: only frames
    std::vector<Axis> axes;
};

/// Opens one TIFF file, page after page. `looks`: the scan state of a growing movie, as for open_joined_movie().
/// Throws InputError.
TiffMovieFile open_tiff_movie(const std::filesystem::path& path, ScanState* looks = nullptr);

/// A format of movies in one file. TIFF is handled separately, because its movies may have several files.
struct MovieFormat {
    MovieFormatText text;
    /// recognises a file by its content, and companions beside it
    bool (*is)(const InputFile& file, const std::filesystem::path& path);
    /// Throws InputError; OptionError for a choice that is missing or does not exist (chosen_planes()).
    std::unique_ptr<Movie> (*open)(const std::filesystem::path& path, const MovieChoice& choice);
};

/// A format of movies that are folders.
struct FolderFormat {
    MovieFormatText text;
    bool (*is)(const std::filesystem::path& folder);
    bool (*is_part)(
        /// by its name: a file of such a folder opens the whole folder; null: no file does
        const std::filesystem::path& file);
    std::unique_ptr<Movie> (*open)(const std::filesystem::path& folder, const MovieChoice& choice, ScanState* looks);
};

// The formats of movies, in the order in which a file or folder is compared with them. Each is defined at the end of
// its file: NAME_movies. Picasso's raw movies are the last files: any file with a .yaml beside it may be one, and so
// may a table. A folder of TIFF files is the last folder, since any folder may be one. TIFF files are handled
// separately (open_movie.cpp), because their movies may continue in other files.
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

/// Throws InputError with advice for a format that is recognised by its first bytes but not read.
void refuse_foreign(const InputFile& file);
/// Throws InputError with advice for Andor's spooled frames without their description.
void refuse_spooled(const std::filesystem::path& path);
/// Throws InputError that the file is a table of localizations.
[[noreturn]] void refuse_table(const std::filesystem::path& path);

/// Opens the only dataset of (frames, y, x) in an HDF5 file. If there are several, opens the one that `choice.position`
/// selects.
std::unique_ptr<Movie> open_hdf5_dataset(const std::filesystem::path& path, const MovieChoice& choice);

}  // namespace glint
