// Which of glint's TOML files one is: a camera, a calibration, or a recipe.
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>

#include <toml++/toml.h>

namespace glint {

enum class TomlKind { camera, calibration, recipe };

/// Throws InputError for a file whose keys are those of another kind than `wanted`: what it is, and where it is to be given.
void require_toml_kind(const toml::table& table, const std::filesystem::path& path, TomlKind wanted);

}  // namespace glint
