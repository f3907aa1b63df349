// The flags that describe the camera, and where each value comes from.
// SPDX-License-Identifier: MIT
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/console.hpp"
#include "cli/flags/missing.hpp"
#include "glint/camera.hpp"
#include "glint/inspect.hpp"
#include "glint/movie.hpp"

namespace glint::cli {

/// Of --offset, --gain and --sigma of `glint localize`: the movie itself shall tell.
inline const std::string word_auto = "auto";

struct CameraFlags {
    std::string pixel_size;                                  ///< with unit; empty: not given
    std::optional<double> offset, gain, readnoise, em_gain;  ///< of the first two NaN: auto
    std::string offset_source, gain_source;                  ///< where not the command line: "estimated"
    std::string camera_file, preset;                         ///< one of them at most
    std::string sensor_roi;                                  ///< "X,Y"
    std::string region;                                      ///< of whole frames, that the movie is: "X,Y,W,H"
    std::string gain_unit;    ///< of `gain` from the command line, and of a map that does not tell its own
    std::string camera_name;  ///< in Picasso's config.yaml
    std::vector<std::string> camera_settings;  ///< of that camera
};
void add_camera_flags(CLI::App& app, CameraFlags& flags);
/// The same for a movie that is to be inspected, of which they are what is known.
void add_known_camera_flags(CLI::App& app, CameraFlags& flags);
/// Of these, those that a movie's inspection is told; the EM gain may be the metadata's.
InspectOptions inspect_options(const CameraFlags& flags, const MovieInfo& movie);

/// The flags as they were given, for a command to go on with: " --pixel-size 100nm --offset 100 --gain 0.5".
std::string as_given(const CameraFlags& flags);

struct CameraFacts {
    Camera camera;
    double pixel_size_nm = 0;                  ///< 0 when it was not needed and not given
    std::vector<std::filesystem::path> files;  ///< read for it: --camera and its maps
    bool has_offset = false, has_gain = false, has_corner = false;
    std::string sources;          ///< a line of text: every value and its source
    std::string starting_values;  ///< with a preset: that its values are typical, and how better ones are had
};

/// The command line overrides --camera FILE or a preset, which override the movie's metadata. Nothing is guessed: when offset, gain or
/// (unless `pixel_size_needed` is false) the pixel size is not given, it is added to `missing`, and what is returned is of no
/// use.
CameraFacts camera_facts(const CameraFlags& flags, const MovieInfo& movie, MissingOptions& missing,
                         bool pixel_size_needed = true);

/// For an inspection with --camera: what it says, instead of inspect_options.
void take_camera(const CameraFacts& facts, InspectOptions& options);

/// The values for --json; of a map its median, and the files that it is in.
nlohmann::ordered_json camera_json(const CameraFacts& facts);

/// --pixel-size alone, for commands that need nothing else of the camera.
void add_pixel_size_flag(CLI::App& app, std::string& text);

/// Its value; 0 when it was not given.
double pixel_size_nm(const std::string& text);

}  // namespace glint::cli
