// Whether beads move with the sample, and what they show of its drift.
// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/drift/beads.hpp"
#include "analysis/drift/halves.hpp"

namespace glint::drift {

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
