// Finds fiducial beads, which are visible in nearly every frame. Checks whether they move with the sample, and computes
// the drift that they show.
// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <vector>

#include "analysis/drift/blinks.hpp"
#include "analysis/drift/scores.hpp"
#include "glint/progress.hpp"

namespace glint::drift {

/// The rows of the table that show one bead, ordered by frame. At most one row per frame.
using Bead = std::vector<std::uint32_t>;

/// Returns spots that are seen in at least 80 % of the frames, each time near the previous place. Two beads share rows,
/// or are within 250 nm of each other, in at most 5 % of the frames of the shorter one.
std::vector<Bead> find_beads(const Table& table);

/// Returns the bead nearest to each given place (x, y in nm) in any frame. Beads within 250 nm of each other are
/// returned once. Warns if a bead is never within 250 nm of its place. Throws InputError if no row is within 1 um, or
/// if the nearest spot is seen in less than 20 % of the frames.
std::vector<Bead> beads_at(const Table& table, std::span<const std::array<double, 2>> places_nm, const Warn& warn);

/// Returns the table without the rows of the beads, and without rows within 250 nm of a bead in the same frame.
Table without_beads(const Table& table, const std::vector<Bead>& beads);

/// The position of one bead in each frame, nm.
struct BeadTrack {
    std::array<Seen, 3> seen;
    bool used = false;
    std::array<double, 3> own_nm{};  ///< RMS of its motion against the others, beyond noise
    Vec3 place_nm{};                 ///< mean position with the latest drift subtracted
};

/// Returns the track of each bead, without rows far from the bead's place in the frames around. `white_nm` is the
/// jitter of the sample that is new in each frame, by axis. If a bead moves more from frame to frame than its
/// precisions and this jitter predict, its errors are increased.
std::vector<BeadTrack> tracks_of(const Table& table, const std::vector<Bead>& beads,
                                 const std::array<double, 3>& white_nm);

/// Determines which beads move with each other and with `molecules`, and sets `used` and `own_nm`. `molecules` are the
/// observations of the molecules by axis; empty or without information if there are none. A bead that nothing confirms
/// is not used.
void judge(std::vector<BeadTrack>& tracks, const std::array<Seen, 3>& molecules, int axes);

int used_beads(const std::vector<BeadTrack>& tracks);

/// Returns a rough drift from the used beads alone, as a start. Needs at least two used beads.
FrameDrift drift_of_beads(const std::vector<BeadTrack>& tracks, int axes);

/// Adds the observations of the used beads along one axis. Beads alternate between the two halves. `drift` is the best
/// estimate so far; the place of each bead follows from it.
void add_beads(SeenByHalves& to, std::vector<BeadTrack>& tracks, const std::vector<double>& drift, std::size_t axis);

}  // namespace glint::drift
