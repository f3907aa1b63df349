// The readers behind read_rois, one per format: counts as the file has them.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "glint/rois.hpp"

namespace glint {

/// A stack of squares in raw counts. Corners and frames are empty or one per ROI.
struct RoiCounts {
    int size = 0;               ///< S, px
    std::vector<float> counts;  ///< n * S * S, C order
    std::vector<std::int32_t> x_corner, y_corner;
    std::vector<std::uint32_t> frame;

    std::size_t count() const { return size > 0 ? counts.size() / (std::size_t(size) * std::size_t(size)) : 0; }
};

/// The edge S of an (n, S, S) stack. Throws InputError, naming `file`, unless n >= 1 and S is 3 to 31.
int roi_size_of_shape(const std::vector<std::uint64_t>& shape, const std::string& file);

/// NumPy's .npy, versions 1 to 3, C or Fortran order, either byte order.
RoiCounts read_npy_rois(const std::filesystem::path& path);

/// HDF5: `rois` or `data`, optional `x_corner` and `y_corner`, `frame`.
RoiCounts read_hdf5_rois(const std::filesystem::path& path);

/// TIFF, one page per ROI. A truncated file is an error: lost ROIs must not go unnoticed.
RoiCounts read_tiff_rois(const std::filesystem::path& path);

}  // namespace glint
