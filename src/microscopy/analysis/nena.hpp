// NeNA from pairs that were found already.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "analysis/frame_neighbors.hpp"
#include "glint/resolution.hpp"

namespace glint {

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
