// The probability that a row represents one molecule, and not several unresolved ones.
// SPDX-License-Identifier: MIT
#pragma once

#include "glint/localizations.hpp"
#include "glint/movie.hpp"
#include "pipeline/localize_job.hpp"

namespace glint {

/// The name of the column.
inline constexpr const char* p_single_column = "p_single";
/// Rows below this probably represent several molecules.
constexpr double probably_single = 0.5;

/// Returns the additional variance per axis, px^2, of a row that may represent several molecules
/// (docs/explanation/theory.md, eq. 10.13).
inline double several_variance(double p_single, double precision_px, double width_px) {
    return 1.2 * (1 - p_single) * precision_px * width_px;
}

/// Returns how much more frequent spots of two different frames are, by area, at 1 to 2.2 PSF widths from each other
/// than at 2.2 to 4.5: 1 for random molecules, about 2 on lines, more in clusters. Uses up to 64 frames, always the
/// same ones, and skips unreadable ones. An excess that may be chance counts little. 1 if there are too few pairs.
double measure_pair_excess(Movie& movie, const LocalizeJob& job);

/// Adds the column p_single to the rows of whole frames (theory.md, eq. 10.12). The rows must be ordered by frame and
/// come from joint fits. Rows that did not converge get 0 and do not count as neighbours. lpx and lpy of rows that
/// probably represent several molecules include the resulting error.
void add_p_single(const LocalizeJob& job, Localizations& rows);

}  // namespace glint
