// NeNA from pairs that are already known.
// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string>
#include <vector>

#include "analysis/frame_neighbors.hpp"
#include "glint/resolution.hpp"

namespace glint {

/// Returns the distances of the pairs in nm, in the order of frames.
std::vector<float> distances_nm(std::span<const FramePair> pairs, double pixel_size_nm);

/// Fits NeNA to all distances up to a radius far beyond the precision. Fills all fields except `lag` and `stated_nm`.
Nena fit_nena(std::span<const float> distances_nm);

/// Fits a part of the field with few pairs, with the shape of the correction terms from `whole`. Fills only `precision`
/// and `pairs`.
Nena fit_nena_of_part(std::span<const float> distances_nm, const NenaShape& whole);

/// Search radius for neighbours: larger than any precision, smaller than the distance between molecules in one frame.
inline constexpr double nena_radius_px = 3;

/// `pairs` must be the pairs of `lag` within nena_radius_px.
Nena nena_of(const FrameNeighbors& neighbors, std::span<const FramePair> pairs, const Localizations& table, int lag);

/// Returns whether so few localizations have a neighbour in the next frame that blinks may be linked to one row each.
bool has_few_pairs(const FrameNeighbors& neighbors, const Nena& nena);

/// Returns a warning that NeNA does not hold if blinks were linked to one row each. Empty if they were not.
std::string linked_caveat(const Localizations& table);

/// Returns the step between single-precision positions in nm, at the largest coordinate of the table.
double step_of_positions_nm(const FrameNeighbors& neighbors, double pixel_size_nm);

/// Returns NeNA's precision, but at least the step of positions. If the table is linked (or may be), or if NeNA has no
/// result, returns the median of the stated precisions, if any. NaN: unknown.
double precision_for_frc(const FrameNeighbors& neighbors, const Nena& nena, const Localizations& table);

}  // namespace glint
