// Metadata of a movie in a TIFF's first page: ImageJ, OME, MicroManager.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/files/input_file.hpp"
#include "io/planes.hpp"
#include "io/tiff/handle.hpp"
#include "io/tiff/ome_xml.hpp"

namespace glint {

struct TiffMetadata {
    std::int64_t images = 0;        ///< pages of the stack, whatever the directories contain; 0: unknown
    bool is_stk = false;            ///< from MetaMorph's tag UIC2, not from ImageJ's `images=N`
    bool in_one_directory = false;  ///< tifffile's "truncated": the first directory represents all `images`
    std::string
        stated_by;  ///< the origin of `images` and `axes`, such as "the ImageJ description"; empty: nothing states them
    std::optional<double> pixel_size_nm;
    std::optional<double> exposure_ms;
    std::string camera;
    std::vector<std::string> warnings;  ///< without the file's name: "the metadata say pixels of ..."
    std::vector<Axis> axes;  ///< of the planes of the movie, the slowest first; empty if unknown or only one plane
    OmeMovie ome;            ///< of OME files
};

/// Reads the handle's first page. Accepts only reliable metadata: a unit of length, and a size that a camera pixel can
/// have on the sample (1 nm to 100 um), equal along x and y. `path` is the handle's.
TiffMetadata read_tiff_metadata(const TiffHandle& tiff, const std::filesystem::path& path);

/// Sets the pixel size if the pixel is square and a camera pixel can have that size on the sample.
void take_pixel_size(double x_nm, double y_nm, TiffMetadata& metadata);

/// Parts of read_tiff_metadata(), for tests. Resolutions are the page's XResolution and YResolution, pixels per unit.
/// `uuid`: see parse_ome_xml.
TiffMetadata read_imagej_description(const std::string& text, double x_resolution, double y_resolution);
TiffMetadata read_ome_description(const std::string& text, const std::string& file_name, const std::string& uuid = {});

/// Returns the exposure in ImageJ's "Info" of an image that Micro-Manager or MetaMorph recorded: "Exposure-ms": 20,
/// or Exposure: 20 ms.
std::optional<double> exposure_ms_in_info(std::string_view info);

/// Reads Micro-Manager's JSON of the first page (tag 51123), and the summary after the header: names for unnamed
/// channels.
void take_micromanager(const TiffHandle& tiff, const InputFile& file, TiffMetadata& metadata);

}  // namespace glint
