// What makes a measured PSF doubtful.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "analysis/lens/find_beads.hpp"
#include "analysis/lens/spline_grid.hpp"
#include "glint/calibrate_psf.hpp"

namespace glint::lens {

/// With fewer beads, the noise of the PSF itself shows in fits.
inline constexpr std::size_t recommended_beads = 5;
inline constexpr std::size_t recommended_field_beads = 50;  ///< for a PSF that changes over the field

/// What the PSF was tested on: beads, or slices of the only bead.
const char* describe_tested(bool by_slices);

/// That the counts of a stack are mostly below the camera's offset, for the end of a message; else empty.
std::string doubt_offset(const Projection& projection);

/// Complete sentences about the result. Its table must still cover the whole stack, as `spline` does.
std::vector<std::string> find_doubts(const PsfCalibration& calibration, const Spline& spline);

}  // namespace glint::lens
