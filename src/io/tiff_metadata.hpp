// What programs write about a movie in a TIFF's first page: ImageJ, OME, MicroManager.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "io/tiff_handle.hpp"

namespace glint {

struct TiffMetadata {
    std::int64_t images = 0;  ///< ImageJ's `images=N`: pages of the stack, whatever the directories say; 0: not said
    std::optional<double> pixel_size_nm;
    std::vector<std::string> warnings;  ///< without the file's name: "the ImageJ description says 2 channels ..."
};

/// Reads the handle's first page. Only what the metadata really say: a unit that is a length, a size that a
/// camera pixel can have on the sample (1 nm to 100 um), the same along x and y.
TiffMetadata read_tiff_metadata(const TiffHandle& tiff);

/// The parts, apart for tests. Resolutions are the page's XResolution and YResolution, pixels per unit.
TiffMetadata read_imagej_description(const std::string& text, double x_resolution, double y_resolution);
TiffMetadata read_ome_description(const std::string& text);

/// MicroManager's JSON of the first page (tag 51123): `PixelSizeUm`, 0 where it was not calibrated.
std::optional<double> pixel_size_nm_from_micromanager(const std::string& json);

}  // namespace glint
