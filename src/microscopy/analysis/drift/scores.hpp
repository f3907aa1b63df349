// How the blinks around a blink pull at it: several estimates of the density's slope, combined by what they are worth;
// and what pulls show of the drift a frame, by two halves of the field, which have none in common.
// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "analysis/drift/blinks.hpp"
#include "analysis/drift/smoother.hpp"

namespace glint::drift {

/// Of each blink and axis: how far it lies from where the others put it (nm, drift that is left plus error), and the
/// information (1/nm^2) of that.
struct Pulls {
    std::array<std::vector<float>, 3> offset_nm, information;
    /// What all together tell of x and y, as a matrix: xx, xy, yy. Only the directions and the ratio of its axes have a meaning.
    std::array<double, 3> matrix_xy{};
};

/// `finest_nm`: details smaller than this are blurred away, while the drift is not known better. Of at most `most` blinks, evenly
/// taken; others have no information.
Pulls pulls(const Blinks& blinks, const Points& points, int axes, double finest_nm, int frames, std::size_t most);

/// Squares of 2 um, alternately.
bool second_half(float x_nm, float y_nm);

/// The drift of one axis as seen a frame: by both halves together and by each.
struct SeenByHalves {
    Seen all, half[2];
    double lasting_frames = 1;  ///< for how long an error of what is seen lasts, as a blink's does
    double apart = 1;  ///< how many times more the halves differ over long times than their errors and chance say
};

/// `drift`: of this axis, taken out of `points`; what is seen is the drift as a whole, not what is left.
SeenByHalves seen_by_halves(const Table& table, const Blinks& blinks, const Points& points, const Pulls& pulls,
                            const std::vector<double>& drift, std::size_t axis);

/// How two sides of the field move against each other, slowly: RMS beyond errors, and its square over what the errors say.
struct SidesApart {
    double rms_nm = 0, over_errors = 1;
};

/// Of one axis; the field is cut at the median along `side` (0: x, 1: y).
SidesApart sides_apart(const Table& table, const Blinks& blinks, const Points& points, const Pulls& pulls,
                       const std::vector<double>& drift, std::size_t axis, std::size_t side);

/// Sets the errors of what is seen to what the difference of the halves shows, which has no drift in it; `drift` is the best known so far.
void set_errors(SeenByHalves& seen, const std::vector<double>& drift, double blink_frames);

/// Adds to `to` what else is seen of the same drift.
void add_seen(Seen& to, const Seen& more);

}  // namespace glint::drift
