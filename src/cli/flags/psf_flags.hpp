// The flags that describe the PSF and the fit.
// SPDX-License-Identifier: MIT
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "glint/fit.hpp"
#include "glint/workflow.hpp"

namespace glint::cli {

void add_psf_flags(CLI::App& app, PsfSetup& flags);

/// Returns the flags as they were given, for a command line: " --psf GaussianXYNBS --sigma 130nm". A --psf that is the
/// default is left out.
std::string as_given(const PsfSetup& flags);

/// Adds --max-iterations and --tolerance.
void add_fit_flags(CLI::App& app, FitSettings& settings);

}  // namespace glint::cli
