// The camera of a movie: every value and its source.
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
    std::vector<std::filesystem::path> files;  ///< the camera's file and its maps, which were read
    bool has_offset = false, has_gain = false, has_corner = false;
    std::string sources;          ///< a line of text: every value and its source
    std::string starting_values;  ///< with a preset: a note that its values are typical, and how to get better ones
};

/// Returns the camera's values. Given values take precedence over the camera's file or preset, and the file or preset
/// over the movie's metadata. The file of a measured PSF (`psf`) gives the pixel size if nothing else does. Nothing is
/// guessed. If offset, gain or (with `pixel_size_needed`) pixel size are not given, they are added to `missing`, and
/// the result is unusable.
CameraFacts camera_facts(const CameraSetup& given, const MovieInfo& movie, MissingOptions& missing,
                         bool pixel_size_needed = true, const PsfSetup* psf = nullptr);

/// Returns the values. A map is represented by its median and the files that contain it.
nlohmann::ordered_json camera_json(const CameraFacts& facts);

/// Parses CameraSetup::pixel_size; 0 if it was not given. Throws OptionError.
double pixel_size_nm(const std::string& text);

/// Parses CameraSetup::region, "X,Y,W,H". Throws OptionError.
PixelRegion parse_pixel_region(const std::string& text);

}  // namespace glint
