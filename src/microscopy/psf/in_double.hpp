// The PSF models in double precision, for everything but the fit: simulations, tables, neighbours, the reference.
// SPDX-License-Identifier: MIT
#pragma once

#include <span>

#include "glint/psf.hpp"
#include "psf/facts.hpp"

namespace glint {

/// The model's description and its shape parameters; static storage.
const PsfFacts& psf_facts(PsfModel model);
std::span<const ShapeParameter> shape_parameters_of(PsfModel model);

/// Converts a PSF to pixels. The limits of free widths matter for fits only.
template <class Scalar>
PsfNumbers<Scalar> numbers_of(const Psf& psf, double pixel_size_um, Scalar min_sigma_px = 0, Scalar max_sigma_px = 0);
extern template PsfNumbers<float> numbers_of(const Psf&, double, float, float);
extern template PsfNumbers<double> numbers_of(const Psf&, double, double, double);

/// Throws OptionError if the PSF lacks its width or calibration, or one of its numbers is out of range.
void check_psf(const Psf& psf, double pixel_size_um);

struct PsfWidths {
    double x_px, y_px;
};

/// One PSF to be evaluated. `shape`: the parameters after x, y, photons and bg, as in Fits::theta[4], ...
class PsfInDouble {
  public:
    PsfInDouble(const Psf& psf, double pixel_size_um);

    /// Standard deviations along x and y.
    PsfWidths widths(const double* shape) const;
    /// The shape of a molecule at this z, for simulations.
    void typical_shape(double z_um, double* shape) const;
    /// Whether the shape is within the model's bounds, and free widths within the given limits.
    bool allows(const double* shape, double min_sigma_px, double max_sigma_px) const;
    /// Whether the model is a product of Gaussians along x and y, which its widths determine.
    bool separable() const;
    /// Adds N h(x, y, shape) to an image of height x width pixels, C order, whose pixel (0, 0) is at (left, top) in
    /// theta's coordinates. theta: x, y, N, bg (not added), shape.
    void add_photons(const double* theta, int left, int top, int width, int height, double* image) const;

  private:
    PsfModel model_;
    PsfNumbers<double> numbers_;
};

}  // namespace glint
