// Calibration of the astigmatic PSF from a z-stack of beads (docs/theory.md, section 9).
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
    double sigma_um = 0;       ///< approximate width, for detection; 0: 1.3 px
    int roi_size = 0;          ///< 0: chosen from the width
};

/// Fits two free widths to every bead in every slice, then the curve (eq. 9.1) by weighted least squares; z = 0 is
/// midway between the foci (eq. 9.2). `plot` of glint/render.hpp draws the result. Throws InputError if the stack does
/// not determine z: too few slices, no bead, widths that do not cross, or axes tilted against the pixels (the message
/// states the angle).
Calibration calibrate_astigmatism(Movie& stack, const Camera& camera, const CalibrateOptions& options);

/// For a person: that the depth of focus is more than three times, or less than a third, of what light focused to the curve's widths has
/// (eq. 9.4), so that the step between slices or the pixel size is likely wrong. Else empty.
std::string depth_warning(const AstigmaticCurve& curve);

}  // namespace glint
