// NeNA's fit of the histogram of distances (docs/theory.md, eqs. 14.1 and 14.2).
// SPDX-License-Identifier: MIT
#pragma once

#include <span>
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

}  // namespace glint
