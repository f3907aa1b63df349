// Movies in MATLAB files of version 7.3: HDF5 behind MATLAB's header.
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <memory>

#include "glint/movie.hpp"

namespace glint {

/// The only array of numbers of three dimensions. Throws InputError.
std::unique_ptr<Movie> open_mat73(const std::filesystem::path& path);

}  // namespace glint
