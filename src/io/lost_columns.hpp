// Columns of a table that a file's format has no place for.
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string>

#include "glint/localizations.hpp"

namespace glint {

/// For a person: which columns of `like` the file will lack, and which format keeps them. Empty where none.
std::string lost_columns_text(const std::filesystem::path& path, const Localizations& like);

}  // namespace glint
