// Maps of a camera's pixels: their files (HDF5, MATLAB's .mat, a .npy or .tif for each quantity, ACCeNT's folder), and
// loading them in common units.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "glint/camera.hpp"

namespace glint {

/// Whether a gain is in e-/ADU or its reciprocal.
enum class GainUnit { e_per_adu, adu_per_e };

/// Parses "e-/ADU", "photoelectrons per count", "ADU/e-" and similar texts. Returns nullopt for any other text.
std::optional<GainUnit> parse_gain_unit(std::string_view text);

struct StoredMap {
    std::string name;  ///< for messages; includes the file if the map has a separate one
    std::uint64_t height = 0, width = 0;
    std::optional<std::string> unit;  ///< as the file states it
    std::vector<float> values;        ///< height * width, C order
};

/// The quantities that a source contains, by glint's names: offset, gain, readnoise, readvar, qe, faults.
class MapSource {
  public:
    virtual ~MapSource() = default;
    /// Returns nullopt if the source has no such map. Throws InputError for a map that is truncated, too large, or
    /// not of two dimensions of 1 to 32,768 px.
    virtual std::optional<StoredMap> find(const std::string& quantity) = 0;
    /// Returns the unit of the gain if neither the file nor the user states it; nullopt if it must be given.
    virtual std::optional<GainUnit> default_gain_unit() const { return {}; }
    /// Returns the files, and the contents they could have, for messages.
    virtual std::string where() const = 0;
    virtual std::string wanted() const = 0;
};

/// Opens one file with all maps, HDF5 or .mat by its content. Throws InputError.
std::unique_ptr<MapSource> open_map_source(const std::filesystem::path& path);

/// Reads the only map of a .npy or TIFF file, detected by its content. Throws InputError.
StoredMap map_in_file(const std::filesystem::path& path, const std::string& quantity);

/// Opens files that contain one map each, by quantity.
std::unique_ptr<MapSource> map_files(std::vector<std::pair<std::string, std::filesystem::path>> files);

bool is_accent_folder(const std::filesystem::path& folder);

/// Opens a folder written by ACCeNT: TIFFs with maps of offset and noise over the exposure, and of the gain. At this
/// exposure t, the offset is Baseline + DC_per_sec t and the variance RN_sq + TN_sq_per_sec t. Pixels with a
/// non-positive gain or a negative variance (from straight lines through noisy points) get the median, and count as
/// faults. `files` receives the files that are read. Throws InputError for a missing map, or if dark current needs an
/// exposure and none is known.
std::unique_ptr<MapSource> open_accent_folder(const std::filesystem::path& folder, std::optional<double> exposure_ms,
                                              std::vector<std::filesystem::path>& files);

struct MapsInFile {
    bool offset = false, gain = false, readnoise = false, qe = false, faults = false;
};

/// The unit of the gain. If neither the user nor the file states it, and the source has no default, an error says
/// how to give it, or `otherwise` applies.
struct StatedGainUnit {
    std::optional<GainUnit> unit, otherwise;
};

/// Loads the maps that exist. A stated unit that contradicts the file is an InputError. `known`: whether `camera`
/// has a scalar gain, which converts noise in ADU to e- if the file has no gain map, or instead of that map.
enum class KnownGain { none, unless_in_file, instead_of_file };
MapsInFile load_camera_maps(MapSource& source, Camera& camera, const StatedGainUnit& stated, KnownGain known);

}  // namespace glint
