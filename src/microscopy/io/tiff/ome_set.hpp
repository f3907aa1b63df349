// Movies of OME-TIFFs whose metadata assign frames to pages of files.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "glint/movie.hpp"
#include "glint/movie_choice.hpp"
#include "io/movie_readers.hpp"
#include "io/tiff/ome_xml.hpp"

namespace glint {

/// Returns true if its metadata assign planes to anything but consecutive pages of this single file. open_ome_set()
/// must then read it.
bool needs_ome_set(const TiffMovieFile& file, const std::filesystem::path& path);

/// Opens the movie that `file`, opened from `path`, belongs to, in the order of the metadata. It contains all files of
/// its set with the channels of `given` (all files of the set that the user named, including `path`), or with the
/// chosen channel. Finds files beside `path` by their names, and among `given` by their UUIDs. Throws InputError that
/// names missing files; if several files were given, warns instead. Throws OptionError like chosen_planes().
std::unique_ptr<Movie> open_ome_set(const std::filesystem::path& path, TiffMovieFile file,
                                    const std::vector<std::filesystem::path>& given, const MovieChoice& choice,
                                    ScanState* looks);

/// Returns the OME metadata of a TIFF. Throws InputError if it cannot be read.
OmeMovie ome_of(const std::filesystem::path& path);

/// Returns the other files beside `path` that open_ome_set() would read with it, if only `path` were given. Empty if
/// `path` is not an OME-TIFF.
std::vector<std::filesystem::path> ome_set_beside(const std::filesystem::path& path);

/// Returns "the OME metadata say 6 frames (SizeT 3, ...), 4 are there"; empty if the numbers agree, or none is given.
std::string other_number_of_frames(const OmeMovie& ome, const std::string& name, std::int64_t frames);

/// Throws InputError if the metadata name other files that also contain planes.
void require_one_ome_file(const OmeMovie& ome, const std::filesystem::path& path);

}  // namespace glint
