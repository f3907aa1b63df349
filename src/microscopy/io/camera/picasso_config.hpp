// Cameras of Picasso's config.yaml.
// SPDX-License-Identifier: MIT
#pragma once

#include "glint/camera_io.hpp"

namespace glint {

/// Returns the camera that `choice` names, or the only one. Throws InputError if the file is of another kind.
/// Throws OptionError, which lists the choices, if the name or a setting on which the sensitivity depends is
/// missing or wrong.
CameraFile read_picasso_config(const std::filesystem::path& path, const CameraChoice& choice);

}  // namespace glint
