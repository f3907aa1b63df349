// The PSF with which a movie is localized.
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "glint/psf.hpp"
#include "glint/workflow.hpp"
#include "workflow/missing.hpp"

namespace glint {

/// Returns true if the model is the file of a measured PSF.
bool is_lens_file(const PsfSetup& given);

/// Returns the pixel size that the file of a measured PSF states; 0 if there is no such file, or it states none. Throws
/// InputError if the file cannot be read.
double find_pixel_size_nm(const PsfSetup& given);

/// Returns the name of a measured PSF's file, without its folder; empty for other models.
std::string find_file_name(const PsfSetup& given);

/// Returns the default model: GaussianXYNB, or AstigmaticXYZNB with a calibration.
PsfModel default_model(const PsfSetup& given);

/// Returns true if the PSF needs `sigma`, its width.
bool needs_width(const PsfSetup& given);

/// Adds the sigma or calibration to `missing` if the model needs it and it was not given.
void note_missing(const PsfSetup& given, MissingOptions& missing);

/// Throws OptionError, with an example, if the model lacks its sigma or calibration. `pixel_size_nm` may be 0 if the
/// sigma does not need it.
Psf psf_of(const PsfSetup& given, double pixel_size_nm);

/// Returns the files that psf_of() reads.
std::vector<std::filesystem::path> files_of(const PsfSetup& given);

/// Describes a model's own numbers: "ratio=1.5 (0.2 to 5), the width along y over that along x; ...".
std::string own_numbers(const PsfDescription& model);

}  // namespace glint
