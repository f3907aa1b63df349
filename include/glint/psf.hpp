// The point spread function models and their parameters, in physical units.
// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace glint {

/// The name lists the free parameters (docs/theory.md, section 1).
enum class PsfModel {
#define GLINT_PSF_MODEL(name) name,
#include "glint/psf_models.inc"
#undef GLINT_PSF_MODEL
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
    double sigma_um = 0;         ///< width (GaussianXYNB), start value (free widths); > 0, unused with a calibration
    AstigmaticCurve curve = {};  ///< of models that take a calibration
    std::vector<double> numbers =
        {};  ///< the model's own, in the order of PsfDescription::numbers; missing ones: as usual

    /// A typical width for detection, micrometres: sigma_um, or the mean width at z = 0.
    double detection_sigma_um() const;
};

/// A number of a model's own: its name, what it is if nobody gives it, and what is taken.
struct PsfNumber {
    std::string_view name;
    double usual = 0, low = 0, high = 0;
    std::string_view meaning;
};

/// What a model says of itself.
struct PsfDescription {
    std::string_view name;                     ///< "GaussianXYNBS"
    std::string_view about;                    ///< "one free width"
    bool calibrated = false;                   ///< its widths come from Psf::curve, else from Psf::sigma_um
    bool has_z = false;                        ///< z is fitted
    std::vector<std::string_view> parameters;  ///< names in the order of Fits' columns: "x", "y", "photons", "bg", ...
    std::vector<std::string_view> units;       ///< "px", "um" or "" of each; photons and bg in e-
    std::vector<PsfNumber> numbers;            ///< of its own
};
const PsfDescription& describe(PsfModel model);

/// All models there are, in the order of PsfModel.
std::span<const PsfModel> psf_models();

/// "GaussianXYNB" etc.; the reverse throws OptionError and lists the names.
std::string_view name_of(PsfModel model);
PsfModel parse_psf_model(std::string_view name);

/// PsfDescription::parameters.
const std::vector<std::string_view>& parameter_names(PsfModel model);

/// Number of parameters: x, y, photons, bg, and the model's own.
int parameter_count(PsfModel model);

}  // namespace glint
