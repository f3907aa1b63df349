// Estimates PSF properties from a movie's lone, bright spots before the movie is localized.
// SPDX-License-Identifier: MIT
#pragma once

#include "glint/movie.hpp"
#include "pipeline/localize_job.hpp"

namespace glint {

/// Extends make_job() by saturating and defective pixels (survey_pixels) and by estimates from the movie's lone spots.
/// Always examines the same frames, up to 64 from the first to the last. Estimates:
/// - the width, for a model of a given width,
/// - the bounds of free widths,
/// - the misfit, with learn_misfit.
///
/// Skips unreadable frames: the run itself reports them. Throws like make_job().
LocalizeJob prepare_job(Movie& movie, const Camera& camera, const LocalizeOptions& options);

/// Returns true if most spots in the examined frames have neighbours.
inline bool is_crowded(const LoneSpots& lone) { return 2 * lone.found < lone.spots; }

/// Returns a message for the user if lone spots are wider or narrower than the given PSF, with the right width. Empty
/// if they agree within a twentieth of the width, or if there are too few spots.
std::string width_advice(const LoneSpots& lone, const Psf& psf);
/// Returns a warning if lone spots differ from each other by more than noise and pairs explain, with the model that
/// would fit. Otherwise empty.
std::string disagreement_of(const LoneSpots& lone, const Psf& psf);

}  // namespace glint
