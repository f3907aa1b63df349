// The axes of a TIFF's planes as stated by programs that write neither ImageJ's description nor OME-XML.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/files/input_file.hpp"
#include "io/planes.hpp"
#include "io/tiff/handle.hpp"
#include "io/tiff/metadata.hpp"

namespace glint {

/// An axis as its file names it. `size` 0: all remaining planes.
struct NamedAxis {
    std::string name;
    std::int64_t size = 0;
};

/// Reads the statements of the first page: tifffile, SCIFIO, LSM, FluoView, ScanImage, SIS, MetaMorph's
/// wavelengths. Sets `axes`, `images`, `stated_by` and, if the dialect has it, the pixel size. Throws InputError
/// that names the axes if they do not define which planes are one movie.
void take_dialect(TiffHandle& tiff, const InputFile& file, TiffMetadata& metadata);

/// Returns the axes of the planes, the slowest first; empty if at most one has several planes. `named`: the fastest
/// first, without X, Y and samples. Throws InputError if an axis of several planes is not time, z, channel or position,
/// or occurs twice.
std::vector<Axis> known_axes(const std::vector<NamedAxis>& named, const std::string& file,
                             const std::string& stated_by);

/// The shape of a frame, from the first page's tags.
struct FrameShape {
    std::int64_t width = 0, height = 0, samples = 1;
};

/// Reads tifffile's descriptions, for tests: {"shape": [20, 2, 32, 32], "axes": "TCYX"} or shape=(20, 2, 32, 32).
void read_shaped_description(const std::string& text, const FrameShape& frame, const std::string& file,
                             TiffMetadata& metadata);
void read_scifio_description(const std::string& text, const std::string& file, TiffMetadata& metadata);
/// Reads ScanImage's "SI.key = value" lines.
void read_scanimage_facts(const std::string& text, const std::string& file, TiffMetadata& metadata);

/// Returns the value of "Exposure: 50 ms" in a description by MetaMorph; nullopt without a unit.
std::optional<double> exposure_ms_of(std::string_view description);

/// Reads MetaMorph's stacks (STK): a TIFF with one directory, and as many planes after its first as a tag has values.
/// Sets the number of planes, the pixel size if it is calibrated, and the exposure. Sets nothing for files without
/// MetaMorph's tags.
void take_stk(const TiffHandle& tiff, const InputFile& file, TiffMetadata& metadata);

}  // namespace glint
