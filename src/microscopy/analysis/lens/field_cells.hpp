// The cells of a PSF that changes over the field.
// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "analysis/lens/bead_window.hpp"
#include "analysis/lens/learn_spline.hpp"
#include "glint/psf.hpp"

namespace glint::lens {

/// What a molecule between the middles of cells loses.
inline constexpr double max_cell_error_nm = 1;

/// Cells, and the error of the nearest one.
struct FieldCells {
    PsfField field;  ///< in the stacks
    double error_nm = 0;
};

/// Returns the errors of x and y by a PSF from elsewhere, nm per px of distance along x plus along y: the largest one
/// at nine places of the square, and five z from the range. Molecules have 2,000 photons on a background of 10 a
/// pixel. `window`: of the fits, px.
double find_error_per_px(const LearntPsf& learnt, double z_min_nm, double z_max_nm, int window, double pixel_size_nm);

/// Returns square cells over the rectangle around the windows' middles, and half a window beyond. They are so small
/// that the nearest one has an error of less than max_cell_error_nm. Larger ones if these would be more than
/// PsfField::max_cells, or more than PsfTable::max_field_bytes. `values`: of a cell.
FieldCells choose_cells(const std::vector<BeadWindow>& windows, double error_nm_per_px, std::size_t values);

}  // namespace glint::lens
