// The camera of a movie: every value, and where it comes from.
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "glint/camera.hpp"
#include "glint/movie.hpp"
#include "glint/movie_region.hpp"
#include "glint/workflow.hpp"
#include "workflow/missing.hpp"

namespace glint {

struct CameraFacts {
    Camera camera;
    double pixel_size_nm = 0;                  ///< 0 when it was not needed and not given
    std::vector<std::filesystem::path> files;  ///< read for it: the camera's file and its maps
    bool has_offset = false, has_gain = false, has_corner = false;
    std::string sources;          ///< a line of text: every value and its source
    std::string starting_values;  ///< with a preset: that its values are typical, and how better ones are had
};

/// Returns the camera's values. Given values take precedence over the camera's file or preset, and these over the
/// movie's metadata. Nothing is guessed. If offset, gain or (with `pixel_size_needed`) pixel size are not given,
/// they are added to `missing`, and the result is unusable.
CameraFacts camera_facts(const CameraSetup& given, const MovieInfo& movie, MissingOptions& missing,
                         bool pixel_size_needed = true);

/// The values; of a map its median, and the files that it is in.
nlohmann::ordered_json camera_json(const CameraFacts& facts);

/// CameraSetup::pixel_size; 0 when it was not given. Throws OptionError.
double pixel_size_nm(const std::string& text);

/// CameraSetup::region, "X,Y,W,H". Throws OptionError.
PixelRegion parse_pixel_region(const std::string& text);

}  // namespace glint
