// Fiducial beads, which are seen in nearly every frame at one place: whether they move with the sample, and what they
// show of its drift.
// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <vector>

#include "analysis/drift/blinks.hpp"
#include "analysis/drift/scores.hpp"
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

/// What one bead shows: its position a frame, in nm.
struct BeadTrack {
    std::array<Seen, 3> seen;
    bool used = false;
    std::array<double, 3> own_nm{};  ///< RMS of its motion against the others, what noise explains taken off
    Vec3 place_nm{};                 ///< mean, the drift as last judged taken out
};

/// Rows far from where the bead was in the frames around are left out. `white_nm`: the sample's jitter that is new in each frame; errors
/// of a bead beyond its precisions and that one widen its errors.
std::vector<BeadTrack> tracks_of(const Table& table, const std::vector<Bead>& beads,
                                 const std::array<double, 3>& white_nm);

/// Finds out which beads move with one another and with `molecules` (as seen; without information: there are none), and sets
/// `used` and `own_nm`. A bead that nothing confirms is not used.
void judge(std::vector<BeadTrack>& tracks, const std::array<Seen, 3>& molecules, int axes);

int used_beads(const std::vector<BeadTrack>& tracks);

/// The drift that the beads in use show by themselves; roughly, as a start. At least two are in use.
FrameDrift drift_of_beads(const std::vector<BeadTrack>& tracks, int axes);

/// Adds what the beads in use show of one axis; they are divided among the halves. `drift` is the best known so far, from which a
/// bead's place follows.
void add_beads(SeenByHalves& to, std::vector<BeadTrack>& tracks, const std::vector<double>& drift, std::size_t axis);

}  // namespace glint::drift
