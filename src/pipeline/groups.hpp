// Fits the molecules of overlapping windows together.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "fit/joint/joint_fit.hpp"
#include "glint/fits.hpp"
#include "glint/psf.hpp"
#include "glint/rois.hpp"

namespace glint {

/// Replaces the fits of windows that share pixels, and of lone ones that one molecule does not explain, by joint fits of
/// all molecules found there (docs/theory.md, section 10). `rois`: the windows of the fits, ordered by frame, with corners;
/// `wide`: larger ones of the same spots, whose pixels are fitted, the same where they overlap. Rows stay ordered by
/// window; a molecule belongs to the window whose centre is nearest. Returns the number of molecules in each row's
/// group; 0: its fit is as it was.
std::vector<std::uint32_t> fit_groups(const Rois& rois, const Rois& wide, const Psf& psf, double pixel_size_um,
                                      const JointOptions& options, Fits& fits);

}  // namespace glint
