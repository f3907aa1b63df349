// Estimation of a PSF without z from a movie's own lone spots.
//
//     const auto movie = glint::open_movie("movie.tif");
//     const glint::EstimatedPsf found = glint::estimate_psf(*movie, camera, {.pixel_size_nm = 100});
//     const glint::Psf psf = glint::measured_psf(found.table);  // SplineXYNB
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "glint/camera.hpp"
#include "glint/movie.hpp"
#include "glint/progress.hpp"
#include "glint/psf.hpp"

namespace glint {

/// Options of estimate_psf(). Lengths are in the sample.
struct EstimatePsfOptions {
    double pixel_size_nm = 0;
    double sigma_nm = 0;       ///< approximate width of spots; 0: from the movie
    FrameRange frames{0, -1};  ///< frames to use; end < 0: to the last
    Progress progress = {};    ///< steps of the estimation
    const StopFlag* stop = nullptr;
};

/// How well a PSF describes lone spots that it was not estimated from.
struct SpotFits {
    double deviance = 0;  ///< a degree of freedom, mean
    double good_p = 0;    ///< share with p > 0.01; 0.99 is expected
};

/// A PSF without z, with two coefficients a pixel. Its conventions:
///
/// - The mean of h over the border of the window is 0, since a background absorbs a constant.
/// - (x, y) is the centroid of max(h, 0)^1.5.
/// - The sum of h over the window is 1 - `outside`, so that fits find all photons.
struct EstimatedPsf {
    std::shared_ptr<const PsfTable> table;  ///< of SplineXYNB, shape (1, n, n, 1)
    int roi_size = 0;                       ///< window that it was estimated in, px
    std::int64_t frames = 0;                ///< read
    std::int64_t spots = 0;                 ///< found in these
    std::int64_t lone = 0;                  ///< without another spot in their window or beside it
    std::int64_t used = 0;                  ///< from which the PSF was estimated
    double photons = 0;                     ///< median of the used spots
    double outside = 0;                     ///< estimated share of light that h lacks: beyond the window, or constant
    SpotFits psf, gaussian;                 ///< of the PSF, and of a Gaussian of free width
    std::vector<std::string> warnings;      ///< complete sentences
};

/// Returns the PSF of a movie's lone spots (Anderson & King, PASP 112, 1360 (2000); docs/explanation/theory.md, section
/// 16): rounds of maximum-likelihood fits and penalised least squares for all coefficients together. A fifth of the
/// spots is left out, and fitted at the end.
///
/// All molecules must have the same image. If they lie at different depths, the fits of the left-out spots are bad,
/// and a warning says so.
///
/// Throws OptionError for implausible options; InputError if the movie is still being written, or has fewer than 300
/// lone spots; Cancelled after a stop. The result does not depend on the number of threads.
EstimatedPsf estimate_psf(Movie& movie, const Camera& camera, const EstimatePsfOptions& options);

}  // namespace glint
