// Pulls of the blinks around a blink: several estimates of the density's slope, weighted by their information. Also the
// drift that pulls show in each frame, from two halves of the field that have no molecule in common.
// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "analysis/drift/blinks.hpp"
#include "analysis/drift/smoother.hpp"

namespace glint::drift {

/// For each blink and axis: its offset from where the other blinks put it (nm; remaining drift plus error), and the
/// information (1/nm^2) of the offset.
struct Pulls {
    std::array<std::vector<float>, 3> offset_nm, information;
    /// The information of all pulls on x and y, as a matrix: xx, xy, yy. Only its directions and the ratio of its axes
    /// are meaningful.
    std::array<double, 3> matrix_xy{};
};

/// Computes the pulls. Details smaller than `finest_nm` are blurred away, while the drift is still rough. Uses at most
/// `most` blinks, evenly spread; other blinks have no information.
Pulls pulls(const Blinks& blinks, const Points& points, int axes, double finest_nm, int frames, std::size_t most);

/// Returns whether a place is in the second half of the field. The halves are alternating squares of 2 um.
bool second_half(float x_nm, float y_nm);

/// The observed drift of one axis in each frame: by both halves together, and by each.
struct SeenByHalves {
    Seen all, half[2];
    double lasting_frames = 1;  ///< duration of an error, such as the length of a blink
    double apart = 1;           ///< factor by which the halves differ over long times beyond errors and chance
};

/// Returns the observations of the whole drift. `drift` is the drift of this axis that was subtracted from `points`.
SeenByHalves seen_by_halves(const Table& table, const Blinks& blinks, const Points& points, const Pulls& pulls,
                            const std::vector<double>& drift, std::size_t axis);

/// Slow motion of two sides of the field against each other: RMS beyond errors, and its square over what errors
/// predict.
struct SidesApart {
    double rms_nm = 0, over_errors = 1;
};

/// Compares two sides along one axis. The field is cut at the median along `side` (0: x, 1: y).
SidesApart sides_apart(const Table& table, const Blinks& blinks, const Points& points, const Pulls& pulls,
                       const std::vector<double>& drift, std::size_t axis, std::size_t side);

/// Sets the errors of the observations from the difference between the halves, which contains no drift. `drift` is the
/// best estimate so far.
void set_errors(SeenByHalves& seen, const std::vector<double>& drift, double blink_frames);

/// Adds other observations of the same drift to `to`.
void add_seen(Seen& to, const Seen& more);

}  // namespace glint::drift
