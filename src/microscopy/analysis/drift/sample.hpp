// The molecules and beads of a table, and its drift as known so far.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "analysis/drift/bead_motion.hpp"
#include "glint/drift.hpp"

namespace glint::drift {

struct Molecules {
    Table table;
    Blinks blinks;
};

/// The drift is at first a rough one, and becomes better by each turn.
struct Sample {
    Table table;  ///< with the beads; without rows where there are none
    std::vector<Bead> beads;
    std::vector<BeadTrack> tracks;
    Molecules molecules;  ///< without the beads
    std::array<double, 3> white_nm{};
    FrameDrift drift;
    double angle = 0;  ///< by which the axes of all these are turned

    int axes() const { return table.axes; }
    int frames() const { return table.frames; }
    bool beads_suffice() const { return used_beads(tracks) > 1; }
};

Sample sample_of(const Localizations& localizations, const DriftOptions& options);

/// The first, rough drift; `to` has how it was searched for. Where molecules tell less in one direction than in others, axes are
/// turned so that y is this one. Returns why the molecules do not tell of a drift; empty: they do.
std::string find_start(Sample& sample, Drift& to, const std::function<void()>& stopped);

}  // namespace glint::drift
