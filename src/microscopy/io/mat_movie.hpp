// An array of a MATLAB file (version 5 to 7) as a movie.
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <memory>

#include "glint/movie.hpp"
#include "io/mat_arrays.hpp"

namespace glint {

/// `array` is of (height, width, frames), one of those of the file. Throws InputError.
std::unique_ptr<Movie> movie_of_array(const std::filesystem::path& path, const MatArray& array, bool big_endian);

}  // namespace glint
