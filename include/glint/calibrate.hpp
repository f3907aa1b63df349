// Calibration of the astigmatic PSF from a z-stack of beads.
// SPDX-License-Identifier: MIT
#pragma once

#include "glint/calibration.hpp"
#include "glint/camera.hpp"
#include "glint/movie.hpp"

namespace glint {

struct CalibrateOptions {
    double pixel_size_nm = 0;
    double z_step_nm = 0;    ///< distance of two slices; sign: direction of the stage
    double z_center_nm = 0;  ///< z of the stack's middle slice on the scale of the stage
    double sigma_um = 0;     ///< rough width, for detection; 0: 1.3 px
    int roi_size = 0;        ///< 0: chosen from the width
};

/// Free widths per bead and slice, then the curve by weighted least squares; z is counted from midway between the foci.
/// `plot` of glint/render.hpp draws the result. Throws InputError with the reason when the stack cannot give z: too
/// few slices, no bead, widths that do not cross, or axes tilted against the pixels (the angle is named).
Calibration calibrate_astigmatism(Movie& stack, const Camera& camera, const CalibrateOptions& options);

}  // namespace glint
