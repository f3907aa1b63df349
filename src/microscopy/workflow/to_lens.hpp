// The content of a measured PSF's file.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "glint/calibrate_psf.hpp"
#include "glint/psf_io.hpp"
#include "glint/refine_psf.hpp"

namespace glint {

/// Returns a calibration as write_lens() takes it, with its usable range and errors. `origin`: how it was measured.
Lens to_lens(const PsfCalibration& calibration, const std::string& origin);
/// Returns a refined PSF as write_lens() takes it. Its usable range is that of the beads, as heights of molecules.
Lens to_lens(const RefinedPsf& refined, const Lens& beads, const std::string& origin);

}  // namespace glint
