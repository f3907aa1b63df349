// `glint calibrate psf`, `psf-2d` and `psf-in-situ`, and the picture of a measured PSF.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "cli/command.hpp"
#include "glint/calibrate_psf.hpp"
#include "plot/figure.hpp"

namespace glint::cli {

Command add_calibrate_psf(CLI::App& group);
Command add_calibrate_psf_2d(CLI::App& group);
Command add_calibrate_psf_in_situ(CLI::App& group);

/// Returns a length that may be negative or zero: "-50nm", "0".
double parse_signed_nm(const std::string& text, const char* what, double pixel_size_nm);

/// Returns a figure: sections of the PSF, the errors of the fits that tested it over z, and beads beside the PSF.
plots::Figure psf_figure(const PsfCalibration& calibration);

}  // namespace glint::cli
