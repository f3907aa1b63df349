// The molecules and beads of a table, and the current estimate of its drift.
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

/// The drift is rough at first, and improves with each pass.
struct Sample {
    Table table;  ///< with the beads; without rows if there are none
    std::vector<Bead> beads;
    std::vector<BeadTrack> tracks;
    Molecules molecules;  ///< without the beads
    std::array<double, 3> white_nm{};
    FrameDrift drift;
    double angle = 0;  ///< by which the axes of all members above are turned

    int axes() const { return table.axes; }
    int frames() const { return table.frames; }
    bool beads_suffice() const { return used_beads(tracks) > 1; }
};

Sample sample_of(const Localizations& localizations, const DriftOptions& options);

/// Finds the first, rough drift, and records in `to` how it was searched for. If molecules show the drift much less in
/// one direction, turns the axes so that y is this direction. Returns why the molecules show no drift; empty if they
/// do.
std::string find_start(Sample& sample, Drift& to, const std::function<void()>& stopped);

}  // namespace glint::drift
