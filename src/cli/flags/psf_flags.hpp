// The flags that describe the PSF and the fit.
// SPDX-License-Identifier: MIT
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "glint/fit.hpp"
#include "glint/workflow.hpp"

namespace glint::cli {

void add_psf_flags(CLI::App& app, PsfSetup& flags);

/// The flags as they were given, for a command to go on with: " --psf GaussianXYNBS --sigma 130nm"; without a --psf that
/// is the default.
std::string as_given(const PsfSetup& flags);

/// --max-iterations and --tolerance.
void add_fit_flags(CLI::App& app, FitSettings& settings);

}  // namespace glint::cli
