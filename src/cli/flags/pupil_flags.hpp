// The flags that describe an objective, from which a PSF is computed.
// SPDX-License-Identifier: MIT
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "glint/pupil.hpp"
#include "glint/workflow.hpp"

namespace glint::cli {

struct PupilFlags {
    std::optional<double> na, immersion_index, sample_index;
    std::string wavelength, depth;
    std::vector<std::string> zernike;
};

/// Adds --na, --wavelength, --immersion-index, --sample-index, --depth and --zernike.
void add_pupil_flags(CLI::App& app, PupilFlags& flags);

/// Returns the objective; empty without --na. Throws OptionError if a value has no or a wrong unit, if others of these
/// flags are given without --na, or if `psf` describes a PSF too.
std::optional<Pupil> find_pupil(const PupilFlags& flags, const PsfSetup& psf);

/// Returns a length of the optics, nm, which has nothing to do with pixels. Throws OptionError for other units.
double parse_optical_nm(const std::string& text, const char* flag, const char* example);

/// Returns the flags as they were given, for a command line.
std::string as_given(const PupilFlags& flags);

}  // namespace glint::cli
