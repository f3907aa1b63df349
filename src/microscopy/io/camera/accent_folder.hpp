// The folder that ACCeNT leaves: maps of offset and noise over the exposure, and of the gain, as TIFFs.
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "io/camera/map_source.hpp"

namespace glint {

bool is_accent_folder(const std::filesystem::path& folder);

/// Offset and variance at this exposure: Baseline + DC_per_sec t, RN_sq + TN_sq_per_sec t. Pixels whose gain is not positive, or whose
/// variance is negative, as straight lines through noisy points give them, have the median, and are faults. `files` gets those that are read. Throws
/// InputError for a map that is missing, and where no exposure is known that dark current needs.
std::unique_ptr<MapSource> open_accent_folder(const std::filesystem::path& folder, std::optional<double> exposure_ms,
                                              std::vector<std::filesystem::path>& files);

}  // namespace glint
