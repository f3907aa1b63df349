// Calibration of the astigmatic PSF from a z-stack of beads (docs/explanation/theory.md, section 9).
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "glint/calibration.hpp"
#include "glint/camera.hpp"
#include "glint/movie.hpp"

namespace glint {

struct CalibrateOptions {
    double pixel_size_nm = 0;  ///< in the sample
    double z_step_nm = 0;      ///< distance between slices; the sign is the direction of the stage
    double z_center_nm = 0;    ///< stage position of the stack's middle slice
    double sigma_nm = 0;       ///< approximate width, for detection; 0: 1.3 px
    int roi_size = 0;          ///< 0: chosen from the width
};

/// Fits two free widths to every bead in every slice, then the curve (eq. 9.1) by weighted least squares; z = 0 is
/// midway between the foci (eq. 9.2). The curve's range is the largest around the foci in which its misfit shifts z by at
/// most 20 nm beyond the errors of the widths (eq. 9.5). `plot` of glint/render.hpp draws the result. Throws InputError
/// if the stack does not determine z: too few slices, no bead, a double helix, no astigmatism, axes tilted against the
/// pixels (the message contains the angle), widths that do not cross, or no curve that fits.
Calibration calibrate_astigmatism(Movie& stack, const Camera& camera, const CalibrateOptions& options);

/// A sentence on why the range of the curve is smaller than the stack. Empty if it is not.
std::string range_note(const Calibration& calibration);

/// A sentence if the misfit of the curve shifts z by more than 30 nm within its range. Else empty.
std::string misfit_warning(const Calibration& calibration);

/// For a person: that the depth of focus is more than three times, or less than a third, of what light focused to the curve's widths has
/// (eq. 9.4), so that the step between slices or the pixel size is likely wrong. Else empty.
std::string depth_warning(const AstigmaticCurve& curve);

}  // namespace glint
