// Reads and writes drifts: Picasso's drift files, a line of x y [z] for each frame. Reads places of beads.
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>

#include "glint/drift.hpp"
#include "glint/if_exists.hpp"

namespace glint {

/// Reads Picasso's text file: x and y in camera pixels, z in nm, separated by a space. Returns a drift in nm, whose
/// `AxisDrift::error_nm` is empty. Throws InputError if there is no such file, a line is not two or three numbers, or
/// the pixel size is not above 0.
Drift read_drift(const std::filesystem::path& path, double pixel_size_nm);

/// Writes the same. The file appears under its name only when complete. Throws OutputError, InputError for a pixel size
/// that is not above 0.
void write_drift(const std::filesystem::path& path, const Drift& drift, double pixel_size_nm,
                 IfExists if_exists = IfExists::replace);

/// Reads `DriftOptions::bead_places_px` from a text file with a line x y for each bead, in camera pixels, separated
/// by a space. Lines that begin with # are comments. Throws InputError if there is no such file, no bead, or a line
/// that is not two numbers.
std::vector<std::array<double, 2>> read_bead_places(const std::filesystem::path& path);

}  // namespace glint
