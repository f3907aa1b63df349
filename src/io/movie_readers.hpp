// The readers behind open_movie, one per format.
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <memory>

#include "glint/movie.hpp"
#include "io/tiff/ome_xml.hpp"

namespace glint {

struct TiffMovieFile {
    std::unique_ptr<Movie> movie;
    bool truncated = false;  ///< some frames are lost
    OmeMovie ome;            ///< what its OME metadata say
};

/// One TIFF file. `next` continues it, or is empty: a truncated file's warnings say that `next` is left out, since its
/// frames would get wrong numbers. Throws InputError.
TiffMovieFile open_tiff_movie(const std::filesystem::path& path, const std::filesystem::path& next);

/// Picasso .raw with its .yaml, which is `yaml`. Throws InputError.
std::unique_ptr<Movie> open_raw_movie(const std::filesystem::path& path, const std::filesystem::path& yaml);

}  // namespace glint
