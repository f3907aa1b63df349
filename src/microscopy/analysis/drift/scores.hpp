// How the blinks around a blink pull at it: several estimates of the density's slope, combined by what they are worth.
// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "analysis/drift/blinks.hpp"

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

}  // namespace glint::drift
