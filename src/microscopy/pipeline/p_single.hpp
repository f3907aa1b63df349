// The probability that a row stands for one molecule, and not for several too close to be told apart.
// SPDX-License-Identifier: MIT
#pragma once

#include "glint/localizations.hpp"
#include "glint/movie.hpp"
#include "pipeline/localize_job.hpp"

namespace glint {

/// The name of the column.
inline constexpr const char* p_single_column = "p_single";
/// Rows below this probably stand for several molecules.
constexpr double probably_single = 0.5;

/// Variance per axis, px^2, that a row has on top of its stated one because it may stand for several molecules
/// (docs/explanation/theory.md, eq. 10.13).
inline double several_variance(double p_single, double precision_px, double width_px) {
    return 1.2 * (1 - p_single) * precision_px * width_px;
}

/// By how much spots of two different frames are more frequent, by area, at 1 to 2.2 PSF widths from each other than
/// at 2.2 to 4.5: 1 for random molecules, about 2 on lines, more in clusters. From up to 64 frames, always the same
/// ones; an excess that may be chance counts little. 1 if there are too few pairs. Frames that cannot be read are
/// passed over.
double measure_pair_excess(Movie& movie, const LocalizeJob& job);

/// Adds the column p_single to the rows of whole frames, which are ordered by frame and were fitted jointly
/// (theory.md, eq. 10.12). Rows that did not converge get 0 and count for nothing. lpx and lpy of rows that
/// probably stand for several molecules include what this adds to their error.
void add_p_single(const LocalizeJob& job, Localizations& rows);

}  // namespace glint
