// NeNA from pairs that were found already.
// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string>
#include <vector>

#include "analysis/frame_neighbors.hpp"
#include "glint/resolution.hpp"

namespace glint {

/// The pairs' distances, nm, in the order of frames.
std::vector<float> distances_nm(std::span<const FramePair> pairs, double pixel_size_nm);

/// Of all distances up to a radius far beyond the precision. Fills all but `lag` and `stated`.
Nena fit_nena(std::span<const float> distances_nm);

/// The same with the shape of the correction terms as in `whole`, for a part of its field with few
/// pairs; `precision` and `pairs` alone.
Nena fit_nena_of_part(std::span<const float> distances_nm, const NenaShape& whole);

/// Within which neighbours are looked for: more than any precision, less than the distance of molecules that one frame has apart.
inline constexpr double nena_radius_px = 3;

/// The pairs are those of `lag` within nena_radius_px.
Nena nena_of(const FrameNeighbors& neighbors, std::span<const FramePair> pairs, const Localizations& table, int lag);

/// Whether so few localizations have a neighbour in the next frame that blinks may be linked to one row each.
bool has_few_pairs(const FrameNeighbors& neighbors, const Nena& nena);

/// That NeNA does not hold where blinks were linked to one row each; empty where they were not.
std::string linked_caveat(const Localizations& table);

/// Between a position and the next that single precision has, nm, where the table lies farthest from 0.
double step_of_positions_nm(const FrameNeighbors& neighbors, double pixel_size_nm);

/// NeNA's precision, and no less than that step; where the table is linked, or may be, or NeNA tells none, the median of what rows state, if they do. NaN: unknown.
double precision_for_frc(const FrameNeighbors& neighbors, const Nena& nena, const Localizations& table);

}  // namespace glint
