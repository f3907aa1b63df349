// Calibration of the astigmatic PSF from a z-stack of beads (docs/explanation/theory.md, section 9).
//
//     const auto stack = glint::open_movie("beads.tif");
//     const glint::Camera camera = glint::read_camera("camera.toml").camera;
//     const glint::Calibration found =
//         glint::calibrate_astigmatism(*stack, camera, {.pixel_size_nm = 100, .z_step_nm = 20});
//     glint::write_astigmatic_curve("astigmatism.toml", found.curve);
//     glint::write_png("astigmatism.png", glint::plot(found));
//     for (const std::string& text : {glint::range_note(found), glint::misfit_warning(found)}) std::puts(text.c_str());
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "glint/calibration.hpp"
#include "glint/camera.hpp"
#include "glint/movie.hpp"

namespace glint {

/// Options of calibrate_astigmatism(). The pixel size and the step must be given.
struct CalibrateOptions {
    double pixel_size_nm = 0;  ///< in the sample
    double z_step_nm = 0;      ///< distance between slices; the sign is the direction of the stage
    double z_center_nm = 0;    ///< stage position of the stack's middle slice
    double sigma_nm = 0;       ///< approximate width, for detection; 0: 1.3 px
    int roi_size = 0;          ///< px; 0: chosen from the width
};

/// Fits a Gaussian with two free widths to every bead in every slice. Then fits the curve (eq. 9.1; Huang et al.,
/// Science 319, 810 (2008)) to the widths by weighted least squares. z = 0 is midway between the foci (eq. 9.2).
///
/// The range of the curve is the largest one around the foci in which its misfit shifts z by at most 20 nm beyond the
/// errors of the widths (eq. 9.5). plot() of glint/render.hpp draws the result.
///
/// Returns the curve and the measured widths. Throws OptionError for an option out of range, and InputError if the
/// stack cannot be read or does not determine z:
/// - fewer than 5 slices, or fewer than 5 in which at least half of the beads could be measured,
/// - no isolated bead,
/// - a double helix, or a lens without astigmatism,
/// - axes that are rotated relative to the pixels (the message contains the angle),
/// - widths that do not cross, or
/// - no curve that fits.
Calibration calibrate_astigmatism(Movie& stack, const Camera& camera, const CalibrateOptions& options);

/// Returns a sentence that explains why the range of the curve is smaller than the stack. Empty if it is not smaller.
std::string range_note(const Calibration& calibration);

/// Returns a warning if the misfit of the curve shifts z by more than 30 nm within its range. Else empty.
std::string misfit_warning(const Calibration& calibration);

/// Returns a warning if the depth of focus differs by more than a factor of 3 from that of light focused to the curve's
/// widths (eq. 9.4). The step between slices or the pixel size is then probably wrong. Else empty.
std::string depth_warning(const AstigmaticCurve& curve);

}  // namespace glint
