// An astigmatic lens (theory.md, section 9): the fit of its curve to measured widths, the slices of a stack that
// one curve describes, and what tells it from other lenses.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "glint/calibration.hpp"
#include "psf/curve_in_um.hpp"

namespace glint {

/// Widths at stage positions z; structure of arrays, micrometres.
struct WidthsOverZ {
    std::vector<double> z, sigma_x, sigma_y, sigma_x_unc, sigma_y_unc;
};

struct AstigmaticFit {
    CurveInUm curve;  ///< z = 0 midway between the foci; its range is that of the data
    double z_middle_um = 0;
    double rms_residual_um = 0;
    /// The depth by the widths near the foci alone (without Ax, Bx, Ay, By). The curve's depth is at most three times as
    /// large or small: larger powers of u could otherwise replace it.
    double parabola_depth_um = 0;
};

/// Weighted least squares by Levenberg-Marquardt, from `start` if there is one. Needs at least 5 slices; from 7 on, Ax,
/// Bx, Ay and By are fitted, too.
AstigmaticFit fit_astigmatic_curve(const WidthsOverZ& widths, const AstigmaticFit* start = nullptr);

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

/// Medians over the beads of each slice.
struct ShapesOverZ {
    WidthsOverZ widths;
    std::vector<std::size_t> slice;                   ///< its number in the stack
    std::vector<double> along_axes, along_diagonals;  ///< eq. 9.3
    std::vector<double> peak;                         ///< photons over the product of the widths
};

/// The slices in a row around the one with the highest peak whose peaks are at least a quarter of it. Needs a slice.
InFocus slices_in_focus(const ShapesOverZ& shapes);

/// Throws InputError if the shapes turn with z and are never round, as two lobes do.
void refuse_double_helix(const ShapesOverZ& shapes, const std::string& name);

/// Throws InputError, which names the lens, for a double helix, no astigmatism, axes tilted against the pixels (with the
/// angle), and widths that do not cross.
void refuse_other_lenses(const ShapesOverZ& shapes, const std::string& name);

}  // namespace glint
