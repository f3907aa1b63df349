// Reads and writes Picasso's drift files, with a line "x y [z]" for each frame. Reads positions of beads.
//
//     glint::Localizations table = glint::read_localizations("movie.hdf5");
//     const glint::Drift drift = glint::read_drift("movie_drift.txt", table.pixel_size_nm);
//     glint::check_drift(table, drift, "movie_drift.txt", [](const std::string& text) { std::puts(text.c_str()); });
//     glint::apply_drift(table, drift);
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>

#include "glint/drift.hpp"
#include "glint/if_exists.hpp"

namespace glint {

/// Reads Picasso's text file: x and y in camera pixels, z in nm, separated by a space. Returns a drift in nm with an
/// empty `AxisDrift::error_nm`. Throws InputError if the file cannot be read or has no line, a line is not two or three
/// numbers, or the pixel size is not above 0.
Drift read_drift(const std::filesystem::path& path, double pixel_size_nm);

/// Writes Picasso's text file. The file appears under its name only when complete. Throws OutputError if it cannot be
/// written, and InputError if the pixel size is not above 0.
void write_drift(const std::filesystem::path& path, const Drift& drift, double pixel_size_nm,
                 IfExists if_exists = IfExists::replace);

/// Returns `DriftOptions::bead_places_px` from a text file with a line "x y" for each bead, in camera pixels. Lines
/// that begin with # are comments. Throws InputError if the file cannot be read or has no bead, or a line is not two
/// numbers.
std::vector<std::array<double, 2>> read_bead_places(const std::filesystem::path& path);

}  // namespace glint
