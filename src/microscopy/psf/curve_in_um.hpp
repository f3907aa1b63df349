// An astigmatic curve in micrometres, the unit of its files, of its fit and of the kernels.
// SPDX-License-Identifier: MIT
#pragma once

#include "glint/psf.hpp"

namespace glint {

/// Has the same members as AstigmaticCurve.
struct CurveInUm {
    double sx0_um = 0, sy0_um = 0, gamma_um = 0, d_um = 0;
    double ax = 0, bx = 0, ay = 0, by = 0;
    double z_min_um = -0.6, z_max_um = 0.6;
    int roi_size = 0;
    double pixel_size_um = 0;

    double sigma_x_um(double z_um) const;
    double sigma_y_um(double z_um) const;
};

CurveInUm in_um(const AstigmaticCurve& curve);
AstigmaticCurve in_nm(const CurveInUm& curve);

}  // namespace glint
