// The PSF models in double precision: for simulations, tables, neighbours and the reference; for all but the fit.
// SPDX-License-Identifier: MIT
#pragma once

#include <span>

#include "glint/psf.hpp"
#include "psf/facts.hpp"

namespace glint {

const PsfFacts& psf_facts(PsfModel model);
std::span<const ShapeParameter> shape_parameters_of(PsfModel model);

/// A PSF in pixels. The least and greatest free width only matter for fits.
template <class Scalar>
PsfNumbers<Scalar> numbers_of(const Psf& psf, double pixel_size_um, Scalar min_sigma_px = 0, Scalar max_sigma_px = 0);
extern template PsfNumbers<float> numbers_of(const Psf&, double, float, float);
extern template PsfNumbers<double> numbers_of(const Psf&, double, double, double);

/// Throws OptionError when the PSF lacks its width or calibration, or has a number of its own that will not do.
void check_psf(const Psf& psf, double pixel_size_um);

struct PsfWidths {
    double x_px, y_px;
};

/// One PSF, ready to be evaluated. `shape`: the parameters after x, y, photons and bg, as in Fits::theta[4], ...
class PsfInDouble {
  public:
    PsfInDouble(const Psf& psf, double pixel_size_um);

    /// Standard deviations along x and y.
    PsfWidths widths(const double* shape) const;
    /// The shape of a molecule at this z, as simulations draw it.
    void typical_shape(double z_um, double* shape) const;
    /// Whether the shape is within the model's bounds; free widths within these.
    bool allows(const double* shape, double min_sigma_px, double max_sigma_px) const;
    /// A product of Gaussians along x and y: the widths say all.
    bool separable() const;
    /// Adds N h(x, y, shape) to pixels of an image (height rows of width), pixel (0, 0) at (left, top) of theta's.
    /// Pixels are evaluated one by one. theta: x, y, N, (bg: not added), shape.
    void add_photons(const double* theta, int left, int top, int width, int height, double* image) const;

  private:
    PsfModel model_;
    PsfNumbers<double> numbers_;
};

}  // namespace glint
