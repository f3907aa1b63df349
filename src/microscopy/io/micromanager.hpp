// Facts about a movie in Micro-Manager's JSON, in TIFFs and in NDTiff.
// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace glint {

struct MicroManagerFacts {
    std::optional<double> pixel_size_nm;  ///< PixelSizeUm, if it is calibrated: 1 nm to 0.1 mm
    std::optional<double> exposure_ms;    ///< Exposure-ms above 0
    std::string camera;                   ///< Core-Camera, else Camera
};

/// Reads a plane's metadata. All facts are empty if the text is not a JSON object.
MicroManagerFacts read_micromanager(const std::string& json);

/// Returns ChNames of the summary metadata; empty if there is no list of texts.
std::vector<std::string> micromanager_channels(const std::string& json);

}  // namespace glint
