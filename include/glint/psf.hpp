// The point spread function models and their parameters, in physical units.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace glint {

/// Pixel-integrated Gaussian models; the name lists the free parameters (docs/theory.md, section 1).
enum class PsfModel {
    GaussianXYNB,      ///< x, y, N, bg; width given
    GaussianXYNBS,     ///< x, y, N, bg, one free width
    GaussianXYNBSXSY,  ///< x, y, N, bg, two free widths
    AstigmaticXYZNB,   ///< x, y, N, bg, z through a calibration of the two widths
};

/// Widths as functions of z, Huang et al., Science 319, 810 (2008):
/// sx(z) = sx0 sqrt(1 + u^2 + Ax u^3 + Bx u^4), u = (z - gamma) / d; sy(z) with u = (z + gamma) / d.
struct AstigmaticCurve {
    double sx0_um = 0, sy0_um = 0;  ///< widths at focus, micrometres
    double gamma_um = 0;            ///< half the distance of the foci, micrometres; may be negative
    double d_um = 0;                ///< depth of focus, micrometres
    double ax = 0, bx = 0, ay = 0, by = 0;
    double z_min_um = -0.6, z_max_um = 0.6;  ///< the range the calibration covers; bounds of z

    /// The window in which the widths were measured, and the size of its pixels. A real PSF is no Gaussian: the width that
    /// fits it best grows with the window, so that z is right in this one only.
    int roi_size = 0;          ///< px; 0: the widths hold in any window; unknown_roi: nobody knows
    double pixel_size_um = 0;  ///< 0: of any
    static constexpr int unknown_roi = -1;

    double sigma_x_um(double z_um) const;
    double sigma_y_um(double z_um) const;
};

/// A model with its parameters.
struct Psf {
    PsfModel model = PsfModel::GaussianXYNB;
    double sigma_um = 0;    ///< width (GaussianXYNB), start value (free widths); > 0, unused by AstigmaticXYZNB
    AstigmaticCurve curve;  ///< AstigmaticXYZNB only

    /// A typical width for detection, micrometres: sigma_um, or the mean width at z = 0.
    double detection_sigma_um() const;
};

/// "GaussianXYNB" etc.; the reverse throws OptionError and lists the names.
std::string_view name_of(PsfModel model);
PsfModel parse_psf_model(std::string_view name);

/// Number of parameters, 4 to 6.
int parameter_count(PsfModel model);

/// Names of the parameters in the order of Fits' columns: "x", "y", "photons", "bg", then "sigma" | "sigma_x",
/// "sigma_y" | "z".
std::vector<std::string_view> parameter_names(PsfModel model);

}  // namespace glint
