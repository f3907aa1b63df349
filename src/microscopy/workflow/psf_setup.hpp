// The PSF that localizes a movie.
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "glint/psf.hpp"
#include "glint/workflow.hpp"
#include "workflow/missing.hpp"

namespace glint {

/// Returns the default model: GaussianXYNB, or AstigmaticXYZNB with a calibration.
PsfModel usual_model(const PsfSetup& given);

/// Adds the sigma or calibration that the model needs and that was not given.
void note_missing(const PsfSetup& given, MissingOptions& missing);

/// Throws OptionError when the model lacks its sigma or calibration, showing how to give it. `pixel_size_nm` may be 0
/// where the sigma does not need it.
Psf psf_of(const PsfSetup& given, double pixel_size_nm);

/// The files that psf_of() reads.
std::vector<std::filesystem::path> files_of(const PsfSetup& given);

/// A model's own numbers: "ratio=1.5 (0.2 to 5), the width along y over that along x; ...".
std::string own_numbers(const PsfDescription& model);

}  // namespace glint
