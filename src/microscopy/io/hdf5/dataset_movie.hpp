// Movies that are a dataset of an HDF5 file.
// SPDX-License-Identifier: MIT
#pragma once

#include <hdf5.h>

#include <filesystem>
#include <memory>
#include <string>

#include "glint/movie.hpp"

namespace glint::hdf5 {

/// A movie of a dataset that open_dataset() has checked: (frames, y, x), or with `columns_first` (frames, x, y).
/// Further dimensions must be 1. Throws InputError.
std::unique_ptr<Movie> movie_of_dataset(const std::filesystem::path& path, hid_t dataset, const std::string& name,
                                        bool columns_first);

}  // namespace glint::hdf5
