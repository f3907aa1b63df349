// The flags that describe the PSF and the fit.
// SPDX-License-Identifier: MIT
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "cli/flags/missing.hpp"
#include "glint/fit.hpp"
#include "glint/psf.hpp"

namespace glint::cli {

struct PsfFlags {
    std::string model;                 ///< empty: GaussianXYNB, or AstigmaticXYZNB with --calibration
    std::string sigma;                 ///< with unit
    std::string calibration;           ///< file of `glint calibrate astigmatism`
    std::vector<std::string> numbers;  ///< NAME=VALUE, of the model's own
};
void add_psf_flags(CLI::App& app, PsfFlags& flags);

/// The flags as they were given, for a command to go on with: " --psf GaussianXYNBS --sigma 130nm"; without a --psf that
/// is the default.
std::string as_given(const PsfFlags& flags);

/// Adds the sigma or calibration that the model needs and that was not given.
void note_missing(const PsfFlags& flags, MissingOptions& missing);

/// Throws OptionError when the model lacks its sigma or calibration, showing how to give it. `pixel_size_nm` may be 0
/// where the sigma does not need it.
Psf psf_of(const PsfFlags& flags, double pixel_size_nm);

/// --max-iterations and --tolerance.
void add_fit_flags(CLI::App& app, FitOptions& options);

}  // namespace glint::cli
