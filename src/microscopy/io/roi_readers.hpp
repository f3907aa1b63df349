// ROI stacks as stored in files, and their readers, one per format.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "glint/camera.hpp"
#include "glint/roi_view.hpp"
#include "glint/rois.hpp"

namespace glint {

/// A stack of squares in raw counts. Corners and frames are empty or one per ROI.
struct RoiCounts {
    int size = 0;  ///< S, px
    std::size_t count = 0;
    PixelType type = PixelType::float32;
    std::vector<float> floats;             ///< n * S * S, C order; or
    std::unique_ptr<std::byte[]> of_type;  ///< the same as `type`, if a fit accepts the file's type
    std::vector<std::int32_t> x_corner, y_corner;
    std::vector<std::uint32_t> frame;

    const std::byte* pixels() const {
        return of_type ? of_type.get() : reinterpret_cast<const std::byte*>(floats.data());
    }
    std::size_t values_of_roi() const { return std::size_t(size) * std::size_t(size); }
};

/// Detects the format by the content. Throws InputError.
RoiCounts read_roi_counts(const std::filesystem::path& path);

/// Returns the sensor from the movie's first pixel on, or a single ROI if all pixels are equal. Throws InputError,
/// naming `file`, if a ROI is outside the camera's maps, and OptionError if the positions of ROIs are unknown.
CameraView camera_of_rois(const Camera& camera, const RoiCounts& rois, const std::string& file);

/// Returns a view of counts and camera for a fit; both must outlive it.
RoiView view(const RoiCounts& rois, const CameraView& camera);

/// Returns the edge S of an (n, S, S) stack. Throws InputError, naming `file`, unless n >= 1 and S is 3 to 31.
int roi_size_of_shape(const std::vector<std::uint64_t>& shape, const std::string& file);

/// Reads NumPy's .npy, versions 1 to 3, C or Fortran order, either byte order.
RoiCounts read_npy_rois(const std::filesystem::path& path);

/// Reads HDF5: `rois` or `data`, optional `x_corner` and `y_corner`, `frame`.
RoiCounts read_hdf5_rois(const std::filesystem::path& path);

/// Reads a TIFF with one page per ROI. A truncated file is an error: lost ROIs must not go unnoticed.
RoiCounts read_tiff_rois(const std::filesystem::path& path);

}  // namespace glint
