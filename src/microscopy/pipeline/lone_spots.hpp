// What the lone, bright spots of a movie say about the PSF, before the movie is localized.
// SPDX-License-Identifier: MIT
#pragma once

#include "glint/movie.hpp"
#include "pipeline/localize_job.hpp"

namespace glint {

/// make_job, with the pixels that saturate or are defective (survey_pixels), and what the movie's lone spots say, in up
/// to 64 frames from its first to its last, always the same ones:
/// - the width, for a model of a given width,
/// - the bounds of free widths,
/// - with learn_misfit, the misfit. Frames that cannot be read are skipped: the run itself reports them. Throws as
///   make_job.
LocalizeJob prepare_job(Movie& movie, const Camera& camera, const LocalizeOptions& options);

/// Whether most of the spots in the frames that were looked at have neighbours.
inline bool is_crowded(const LoneSpots& lone) { return 2 * lone.found < lone.spots; }

/// For a person: that lone spots are wider or narrower than the PSF given, and which width would be right. Empty if
/// they are as given to a twentieth of the width, or too few to tell.
std::string width_advice(const LoneSpots& lone, const Psf& psf);
/// A warning if lone spots differ from each other by more than noise and pairs, and the model that would fit. Empty
/// otherwise.
std::string disagreement_of(const LoneSpots& lone, const Psf& psf);

}  // namespace glint
