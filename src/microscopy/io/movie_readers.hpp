// The readers behind open_movie, one per format. One more is a file with its two functions, and a line in open_movie.cpp.
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

/// DAX with its .inf: without a header, it is told by its name's end.
bool is_dax(const InputFile& file, const std::filesystem::path& path);
std::unique_ptr<Movie> open_dax(const std::filesystem::path& path, const MovieChoice& choice);

/// SPE 2.x and 3.x of Princeton Instruments.
bool is_spe(const InputFile& file, const std::filesystem::path& path);
std::unique_ptr<Movie> open_spe(const std::filesystem::path& path, const MovieChoice& choice);

/// FITS without compression.
bool is_fits(const InputFile& file, const std::filesystem::path& path);
std::unique_ptr<Movie> open_fits(const std::filesystem::path& path, const MovieChoice& choice);

/// The only array of three dimensions of a MATLAB file (version 5 to 7.3).
bool is_mat(const InputFile& file, const std::filesystem::path& path);
std::unique_ptr<Movie> open_mat(const std::filesystem::path& path, const MovieChoice& choice);

/// A format of movies that are folders.
struct FolderFormat {
    MovieFormatText text;
    bool (*is)(const std::filesystem::path& folder);
    bool (*is_part)(const std::filesystem::path& file);  ///< by its name: a file of such a folder opens all of it
    std::unique_ptr<Movie> (*open)(const std::filesystem::path& folder, const MovieChoice& choice, EarlierLooks* looks);
};

/// NDTiff of Micro-Manager: NDTiff.index beside the files.
bool is_ndtiff(const std::filesystem::path& folder);
bool is_of_ndtiff(const std::filesystem::path& file);
std::unique_ptr<Movie> open_ndtiff(const std::filesystem::path& folder, const MovieChoice& choice, EarlierLooks* looks);

/// Frames that Andor Solis spooled: acquisitionmetadata.ini beside the files.
bool is_spool(const std::filesystem::path& folder);
bool is_of_spool(const std::filesystem::path& file);
std::unique_ptr<Movie> open_spool(const std::filesystem::path& folder, const MovieChoice& choice, EarlierLooks* looks);

/// All PNG files of a folder without TIFF files, in the natural order of their names.
bool is_png_folder(const std::filesystem::path& folder);
std::unique_ptr<Movie> open_png_folder(const std::filesystem::path& folder, const MovieChoice& choice,
                                       EarlierLooks* looks);

/// All TIFF files of a folder, in the natural order of their names; Micro-Manager's single images by channel, z and position.
bool is_tiff_folder(const std::filesystem::path& folder);
std::unique_ptr<Movie> open_tiff_folder(const std::filesystem::path& folder, const MovieChoice& choice,
                                        EarlierLooks* looks);

/// OME-Zarr, or a Zarr array.
bool is_zarr(const std::filesystem::path& folder);
std::unique_ptr<Movie> open_zarr(const std::filesystem::path& folder, const MovieChoice& choice, EarlierLooks* looks);

/// Picasso .raw with its .yaml.
bool is_raw(const InputFile& file, const std::filesystem::path& path);
std::unique_ptr<Movie> open_raw(const std::filesystem::path& path, const MovieChoice& choice);

/// A grey PNG: a movie of one frame.
bool is_png(const InputFile& file, const std::filesystem::path& path);
std::unique_ptr<Movie> open_png(const std::filesystem::path& path, const MovieChoice& choice);

/// SIF of Andor Solis.
bool is_sif(const InputFile& file, const std::filesystem::path& path);
std::unique_ptr<Movie> open_sif(const std::filesystem::path& path, const MovieChoice& choice);

/// DCIMG of Hamamatsu.
bool is_dcimg(const InputFile& file, const std::filesystem::path& path);
std::unique_ptr<Movie> open_dcimg(const std::filesystem::path& path, const MovieChoice& choice);

/// LIF of Leica LAS AF and LAS X; `choice.position` says which image.
bool is_lif(const InputFile& file, const std::filesystem::path& path);
std::unique_ptr<Movie> open_lif(const std::filesystem::path& path, const MovieChoice& choice);

/// Throws InputError that says what to do instead, for a format that is known by its first bytes and not read.
void refuse_foreign(const InputFile& file);
/// For spooled frames of Andor without their description: throws InputError that says what to do.
void refuse_spooled(const std::filesystem::path& path);
/// For a table of localizations: throws InputError that says so.
[[noreturn]] void refuse_table(const std::filesystem::path& path);

/// NumPy's .npy of (frames, y, x).
bool is_npy(const InputFile& file, const std::filesystem::path& path);
std::unique_ptr<Movie> open_npy(const std::filesystem::path& path, const MovieChoice& choice);

/// The only dataset of (frames, y, x) in an HDF5 file; of several, `choice.position` says which.
std::unique_ptr<Movie> open_hdf5_dataset(const std::filesystem::path& path, const MovieChoice& choice);

/// HDF5 of Imaris (.ims), or as open_hdf5_dataset(). Tables and maps of cameras are refused.
bool is_hdf5_movie(const InputFile& file, const std::filesystem::path& path);
std::unique_ptr<Movie> open_ims(const std::filesystem::path& path, const MovieChoice& choice);

/// CZI of Zeiss ZEN.
bool is_czi(const InputFile& file, const std::filesystem::path& path);
std::unique_ptr<Movie> open_czi(const std::filesystem::path& path, const MovieChoice& choice);

/// Nikon ND2.
bool is_nd2(const InputFile& file, const std::filesystem::path& path);
std::unique_ptr<Movie> open_nd2(const std::filesystem::path& path, const MovieChoice& choice);

}  // namespace glint
