// Maps of a camera's pixels from HDF5, converted to common units.
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>

#include "glint/camera.hpp"

namespace glint {

enum class GainUnit { e_per_adu, adu_per_e };

/// "e-/ADU", "photoelectrons per count", "ADU/e-" and the like; nothing for another text.
std::optional<GainUnit> parse_gain_unit(std::string_view text);

struct MapsInFile {
    bool offset = false, gain = false, readnoise = false, qe = false, faults = false;
};

/// Loads what there is. `stated`: the unit of the gain where the file does not tell it (default e-/ADU); a
/// contradiction with the file is an InputError. `known`: whether `camera` has a scalar gain, which turns noise in
/// ADU into e-: when the file has no gain map, or instead of that.
enum class KnownGain { none, unless_in_file, instead_of_file };
MapsInFile load_camera_maps(const std::filesystem::path& path, Camera& camera, std::optional<GainUnit> stated,
                            KnownGain known);

}  // namespace glint
