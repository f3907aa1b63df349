// The numbers that a PSF model computes with, in pixels; the same for every instruction set and for a GPU.
// SPDX-License-Identifier: MIT
#pragma once

namespace glint {

constexpr int most_own_numbers = 4;

/// A glint::Psf in pixels (z in micrometres), as float for the fit, as double for all else.
template <class Scalar>
struct PsfNumbers {
    Scalar sigma_px, min_sigma_px, max_sigma_px;
    Scalar sx0_px, sy0_px, gamma_um, d_um, ax, bx, ay, by, z_min_um, z_max_um;  // the calibration
    Scalar own[most_own_numbers];                                               // PsfFacts::numbers, in their order
};

using KernelPsf = PsfNumbers<float>;

}  // namespace glint
