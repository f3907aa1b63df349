// Fits the curve of an astigmatic lens to measured widths, and finds the slices of a stack that one curve describes.
// Also distinguishes an astigmatic lens from other lenses (theory.md, section 9).
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "glint/calibration.hpp"
#include "psf/curve_in_um.hpp"

namespace glint {

/// Widths at stage positions z, in micrometres. Structure of arrays.
struct WidthsOverZ {
    std::vector<double> z, sigma_x, sigma_y, sigma_x_unc, sigma_y_unc;
};

struct AstigmaticFit {
    CurveInUm curve;  ///< z = 0 lies midway between the foci; the range is that of the data
    double z_middle_um = 0;
    double rms_residual_um = 0;
    /// The depth from the widths near the foci alone (without Ax, Bx, Ay, By). The depth of the curve differs from it
    /// by at most a factor of three. Otherwise larger powers of u could replace the depth.
    double parabola_depth_um = 0;
};

/// Fits by weighted least squares (Levenberg-Marquardt), from `start` if given. Needs at least 5 slices. With 7 or more
/// slices it also fits Ax, Bx, Ay and By.
AstigmaticFit fit_astigmatic_curve(const WidthsOverZ& widths, const AstigmaticFit* start = nullptr);

/// The largest error of z from a misfit of the curve within the range, in addition to the errors of the widths.
inline constexpr double max_z_bias_um = 0.02;

inline constexpr double min_detected = 0.8;

/// Consecutive slices and the curve fitted to them.
struct UsableRange {
    std::size_t first = 0, last = 0;  ///< inclusive
    AstigmaticFit fit;
    RangeEnd first_end = RangeEnd::stack, last_end = RangeEnd::stack;  ///< why the range ends here
    double max_bias_um = 0, rms_bias_um = 0;  ///< of z, from the misfit in these slices (eq. 9.5)
};

/// Consecutive slices that are searched for the foci. `sharpest` is the slice with the highest peak.
struct InFocus {
    std::size_t first = 0, sharpest = 0, last = 0;
};

/// Starts with the slices between the two foci and adds slices at either end. It stops if the misfit of the refitted
/// curve shifts z by more than `max_z_bias_um`, or if less than `min_detected` of the beads are detected. `detected` is
/// the detected share in each slice, or empty. Needs at least 5 slices. If the first slices already exceed the bound,
/// they are returned unchanged: compare `max_bias_um`.
UsableRange find_usable_range(const WidthsOverZ& widths, const InFocus& in_focus,
                              const std::vector<double>& detected = {});

/// Medians over the beads of each slice.
struct ShapesOverZ {
    WidthsOverZ widths;
    std::vector<std::size_t> slice;                   ///< its index in the stack
    std::vector<double> along_axes, along_diagonals;  ///< eq. 9.3
    std::vector<double> peak;                         ///< photons over the product of the widths
};

/// Returns the consecutive slices around the highest peak whose peaks are at least a quarter of it. Needs at least one
/// slice.
InFocus slices_in_focus(const ShapesOverZ& shapes);

/// Throws InputError if the shapes rotate with z and are never round, as two lobes do.
void refuse_double_helix(const ShapesOverZ& shapes, const std::string& name);

/// Throws InputError, with the kind of lens, for:
/// - a double helix,
/// - a lens without astigmatism,
/// - axes that are rotated relative to the pixels (with the angle),
/// - widths that do not cross.
void refuse_other_lenses(const ShapesOverZ& shapes, const std::string& name);

}  // namespace glint
