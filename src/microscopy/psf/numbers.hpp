// The numbers of a PSF model in pixels: plain data, the same for every instruction set and for GPUs.
// SPDX-License-Identifier: MIT
#pragma once

namespace glint {

constexpr int max_own_numbers = 4;

/// A PsfTable in host or GPU memory. Does not own it; null without a table.
struct PsfTableView {
    const float* values;
    int shape[4];
    int samples;     // coefficients a pixel, along x and y
    float width_px;  // of the matched filter
    // The cells of a field follow each other in `values`, row by row. The place is that of the first cell's corner in
    // the movie, px.
    int cells_x, cells_y;
    float left_px, top_px, cells_per_px;
};

/// A glint::Psf in pixels (z in micrometres); float for the fit, double for everything else.
template <class Scalar>
struct PsfNumbers {
    Scalar sigma_px, min_sigma_px, max_sigma_px;
    Scalar sx0_px, sy0_px, gamma_um, d_um, ax, bx, ay, by, z_min_um, z_max_um;  // the calibration
    Scalar own[max_own_numbers];                                                // PsfFacts::numbers, in their order
    PsfTableView table;
};

using KernelPsf = PsfNumbers<float>;

}  // namespace glint
