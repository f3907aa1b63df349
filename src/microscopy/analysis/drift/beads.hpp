// Fiducial beads: seen in nearly every frame at one place, so that each frame shows the drift directly.
// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <vector>

#include "analysis/drift/blinks.hpp"
#include "glint/progress.hpp"

namespace glint::drift {

/// The rows of one bead, at most one a frame, in the order of the frames.
using Bead = std::vector<std::uint32_t>;

/// What is seen in at least 80 % of the frames, each time about where it was before. No two have rows in common or are within 250 nm of
/// each other in more than 5 % of their frames.
std::vector<Bead> find_beads(const Table& table);

/// Those nearest to the given places (x, y in nm) in any frame; what is given twice, or within 250 nm of another, once. Warns of one
/// that is nowhere within 250 nm of its place. Throws InputError where none is within 1 um, or the nearest is seen
/// in less than 20 % of the frames.
std::vector<Bead> beads_at(const Table& table, std::span<const std::array<double, 2>> places_nm, const Warn& warn);

/// The table without the rows of the beads and without what is seen within 250 nm of one in the same frame.
Table without_beads(const Table& table, const std::vector<Bead>& beads);

}  // namespace glint::drift
