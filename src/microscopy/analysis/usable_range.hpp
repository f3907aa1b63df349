// The slices of a stack that one astigmatic curve describes (docs/theory.md, section 9).
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <vector>

#include "analysis/astigmatic_fit.hpp"
#include "glint/calibration.hpp"

namespace glint {

/// The largest error of z by a misfit of the curve that the range may contain, beyond the errors of the widths.
inline constexpr double max_z_bias_um = 0.02;

inline constexpr double min_detected = 0.8;

/// Slices in a row and the curve fitted to them.
struct UsableRange {
    std::size_t first = 0, last = 0;  ///< inclusive
    AstigmaticFit fit;
    RangeEnd first_end = RangeEnd::stack, last_end = RangeEnd::stack;  ///< why there are no slices beyond
    double max_bias_um = 0, rms_bias_um = 0;  ///< of z, by the misfit in these slices (eq. 9.5)
};

/// Slices in a row that are used to look for the foci: `sharpest` is the one with the highest peak.
struct InFocus {
    std::size_t first = 0, sharpest = 0, last = 0;
};

/// Starts with the slices between the two foci and adds slices at either end while the misfit of the refitted curve
/// shifts z by at most `max_z_bias_um`, and while at least `min_detected` of the beads in them are detected
/// (`detected`: a share for each slice, or empty). Needs at least 5 slices. If even the start misses the first bound, it
/// is returned as it is: compare `max_bias_um`.
UsableRange find_usable_range(const WidthsOverZ& widths, const InFocus& in_focus,
                              const std::vector<double>& detected = {});

}  // namespace glint
