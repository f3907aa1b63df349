// Cameras of Picasso's config.yaml.
// SPDX-License-Identifier: MIT
#pragma once

#include "glint/camera_io.hpp"

namespace glint {

/// The camera that `choice` names, or the only one. Throws InputError for what is no such file; OptionError, which lists the
/// choices, where the name or a setting on which the sensitivity depends is missing or wrong.
CameraFile read_picasso_config(const std::filesystem::path& path, const CameraChoice& choice);

}  // namespace glint
