// NeNA from pairs that were found already.
// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/frame_neighbors.hpp"
#include "glint/resolution.hpp"

namespace glint {

/// The pairs are those of `lag` within nena_radius_px.
Nena nena_of(const FrameNeighbors& neighbors, std::span<const FramePair> pairs, const Localizations& table, int lag);

}  // namespace glint
