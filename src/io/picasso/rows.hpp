// Reads the rows of Picasso's `/locs`.
// SPDX-License-Identifier: MIT
#pragma once

#include <hdf5.h>

#include <filesystem>

#include "glint/progress.hpp"
#include "io/localization_builder.hpp"

namespace glint {

/// Announces the numeric members of the compound `file_type` as columns and reads `rows` of them; `warn` names the others. Throws
/// InputError.
void read_rows(hid_t dataset, hid_t file_type, hsize_t rows, const std::filesystem::path& path,
               LocalizationBuilder& builder, const Warn& warn);

}  // namespace glint
