// Maps of a camera's pixels, converted to common units.
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <optional>

#include "glint/camera.hpp"
#include "io/camera/map_source.hpp"

namespace glint {

struct MapsInFile {
    bool offset = false, gain = false, readnoise = false, qe = false, faults = false;
};

/// The gain's unit as it was stated; where neither that nor the file tells it, and the source has no usual one: an error that
/// says how to tell, or `otherwise`.
struct StatedGainUnit {
    std::optional<GainUnit> unit, otherwise;
};

/// Loads what there is. A stated unit that contradicts the file is an InputError. `known`: whether `camera` has a scalar gain,
/// which turns noise in ADU into e-: when the file has no gain map, or instead of that.
enum class KnownGain { none, unless_in_file, instead_of_file };
MapsInFile load_camera_maps(MapSource& source, Camera& camera, const StatedGainUnit& stated, KnownGain known);

}  // namespace glint
