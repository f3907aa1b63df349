// The PSF models in double precision, for all but the fit: simulations, tables, neighbours, the reference.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>

#include "glint/psf.hpp"
#include "psf/facts.hpp"

namespace glint {

/// Returns the model's description and its shape parameters; static storage.
const PsfFacts& psf_facts(PsfModel model);
std::span<const ShapeParameter> shape_parameters_of(PsfModel model);

/// The limits of free widths in fits.
struct WidthLimits {
    double min_px = 0, max_px = 0;
};

/// Converts a PSF to pixels, and z to micrometres. Does not own the table.
template <class Scalar>
PsfNumbers<Scalar> numbers_of(const Psf& psf, double pixel_size_nm, const WidthLimits& limits = {});
extern template PsfNumbers<float> numbers_of(const Psf&, double, const WidthLimits&);
extern template PsfNumbers<double> numbers_of(const Psf&, double, const WidthLimits&);

/// Restricts a table of several cells to the one that contains a place of the movie, px, or the nearest one. Does
/// nothing with one cell. Only computes the address of the cell.
template <class Scalar>
void move_to_cell(double x_px, double y_px, PsfNumbers<Scalar>& numbers);
extern template void move_to_cell(double, double, PsfNumbers<float>&);
extern template void move_to_cell(double, double, PsfNumbers<double>&);
/// Returns the number of values of a cell.
std::size_t cell_size(const PsfTableView& table);

/// Throws OptionError if the model needs a table and the PSF has none, or one that is too small.
void require_table(const Psf& psf);
/// Whether a model is a measured PSF, with or without z.
bool is_measured(PsfModel model);
/// Returns the edge of the largest window, px, that a measured PSF covers for a molecule at its middle. 0 for other
/// PSFs.
int covered_window_px(const Psf& psf);
/// Throws OptionError outside smallest_pixel_nm to largest_pixel_nm.
void check_pixel_size(double nm);
/// Throws OptionError if the PSF lacks its width or calibration, or if one of its numbers is out of range. Also if a
/// length is so small that it is probably not in nanometres.
void check_psf(const Psf& psf, double pixel_size_nm);
/// Like check_psf(). Also throws OptionError if a fit does not support the PSF's width in pixels.
void check_psf_of_fit(const Psf& psf, double pixel_size_nm);

/// Returns Psf::detection_sigma_nm() in micrometres, from which it is converted.
double detection_sigma_um(const Psf& psf);
/// Returns the radius that contains this part of the light of a molecule at z = 0.
double extent_nm(const Psf& psf, PsfPart part);
/// Returns the width in focus; if the foci of x and y differ, the mean of both widths.
double width_in_focus_um(const Psf& psf);

struct PsfWidths {
    double x_px, y_px;
};
using PsfExtent = PsfWidths;  ///< half the edges of a window around a molecule

struct PsfBounds {
    double low, high;
};

/// A PSF prepared for evaluation. `shape`: the parameters after x, y, photons and bg, as in Fits::theta[4], ...
class PsfInDouble {
  public:
    PsfInDouble(const Psf& psf, double pixel_size_nm);

    /// Returns the PSF at a place of the movie, px, for molecules whose coordinates are others. Only a measured PSF
    /// that changes over the field depends on the place.
    PsfInDouble at(double x_px, double y_px) const;
    /// Returns the standard deviations along x and y.
    PsfWidths widths(const double* shape) const;
    /// Returns the range that the calibration or the table covers.
    PsfBounds z_range_um() const { return {numbers_.z_min_um, numbers_.z_max_um}; }
    /// Sets the shape of a molecule at this z, for simulations.
    void typical_shape(double z_um, double* shape) const;
    /// Returns the window that contains this part of a molecule's light.
    PsfExtent extent(const double* shape, PsfPart part) const;
    /// Returns half the edge of the square that a measured PSF describes. 0 if widths determine how far light reaches.
    double reach_px() const;
    /// Returns the bounds of shape parameter k in fits.
    PsfBounds bounds(int k, const WidthLimits& limits) const;
    /// Returns true if the shape is within all its bounds.
    bool allows(const double* shape, const WidthLimits& limits) const;
    /// Returns true if the model is a product of Gaussians along x and y, which its widths determine.
    bool separable() const;
    /// Adds N h(x, y, shape) to an image of height x width pixels in C order. Its pixel (0, 0) is at (left, top) in
    /// theta's coordinates. theta: x, y, N, bg (not added), shape. If the PSF changes over the field, x and y are those
    /// of the movie.
    void add_photons(const double* theta, int left, int top, int width, int height, double* image) const;

  private:
    PsfModel model_;
    std::shared_ptr<const PsfTable> table_;  // keeps the table of numbers_ alive
    PsfNumbers<double> numbers_;
};

}  // namespace glint
