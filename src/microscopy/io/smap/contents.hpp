// The contents of a .mat file of SMAP: the columns of saveloc.loc, and the facts of saveloc.file.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "glint/progress.hpp"
#include "io/files/input_file.hpp"

namespace glint {

/// One field of saveloc.loc.
struct SmapArray {
    std::string name;
    std::uint64_t count = 0;
    bool is_integer = false;
    std::function<void(std::uint64_t first, std::span<double> values)> read;  ///< throws InputError
};

/// saveloc.file(k).info; 0 if unknown.
struct SmapMovie {
    double pixel_x_nm = 0, pixel_y_nm = 0;
    double corner_x_px = 0, corner_y_px = 0;  ///< of the ROI on the camera
    double width = 0, height = 0, frames = 0;
    bool operator==(const SmapMovie&) const = default;
};

/// Returns the movie from the fields of an info. `number(field, k)`: the k-th number of a field, 0 if there is none.
SmapMovie smap_movie(const std::function<double(const char* field, std::size_t k)>& number);

struct SmapContents {
    std::vector<SmapArray> columns;
    std::vector<SmapMovie> movies;
    std::vector<std::string> history;
    std::vector<std::string> skipped;  ///< fields that are not lists of numbers
};

constexpr std::size_t smap_max_fields = 1000, smap_max_files = 1000;

/// Reads an HDF5 file (version 7.3).
SmapContents smap_contents_of_hdf5(const std::filesystem::path& path, const Warn& warn);
/// Reads a file of version 5 to 7. Throws InputError.
SmapContents smap_contents_of_elements(const std::filesystem::path& path);

}  // namespace glint
