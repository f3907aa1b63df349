// Movies of OME-TIFFs whose metadata say which page of which file is which frame.
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

/// Whether its metadata place planes otherwise than page after page of this file alone: open_ome_set() then reads it.
bool needs_ome_set(const TiffMovieFile& file, const std::filesystem::path& path);

/// Opens the movie that `file`, opened from `path`, is part of, in the order of the metadata. It has all files of
/// its set with the channels of `given` (all files of the set that the user named, with `path`), or with the chosen
/// channel. Files are found beside `path` by their names, and among `given` by their UUIDs. Throws InputError that
/// names the missing files; if several files were given, warns instead. Throws OptionError as chosen_planes().
std::unique_ptr<Movie> open_ome_set(const std::filesystem::path& path, TiffMovieFile file,
                                    const std::vector<std::filesystem::path>& given, const MovieChoice& choice,
                                    EarlierLooks* looks);

/// Returns the OME metadata of a TIFF. Throws InputError if it cannot be read.
OmeMovie ome_of(const std::filesystem::path& path);

/// Returns the other files beside `path` that open_ome_set() would read with it, if only `path` were given. None if
/// `path` is no OME-TIFF.
std::vector<std::filesystem::path> ome_set_beside(const std::filesystem::path& path);

/// Returns "the OME metadata say 6 frames (SizeT 3, ...), 4 are there"; empty if the numbers agree, or none is
/// stated.
std::string other_number_of_frames(const OmeMovie& ome, const std::string& name, std::int64_t frames);

/// Throws InputError where the metadata name other files that hold planes, too.
void require_one_ome_file(const OmeMovie& ome, const std::filesystem::path& path);

}  // namespace glint
