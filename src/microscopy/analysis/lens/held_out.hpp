// Errors of fits to beads or slices from which the PSF was not estimated.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "analysis/lens/bead_window.hpp"
#include "analysis/lens/fit_slice.hpp"
#include "analysis/lens/learn_spline.hpp"
#include "glint/calibrate_psf.hpp"

namespace glint::lens {

/// A fit to a slice, with the slice it belongs to.
struct HeldOutFit {
    std::size_t bead = 0, slice = 0;
    double z_nm = 0;                                        ///< of the slice, in the coordinate of the PSF
    double x_error_px = 0, y_error_px = 0, z_error_nm = 0;  ///< about the bead's own means
    bool wrong = false;                                     ///< not converged, or off by max_right_nm and more
    SliceFit fit;
};

constexpr double max_right_nm = 150;

/// Two halves of the data: each is fitted with the PSF from the other. Halves are beads or, if there is only one,
/// every second slice.
struct HeldOut {
    std::vector<HeldOutFit> fits;  ///< in order of bead and slice
    bool by_slices = false;
};

/// `stride`: every how many slices are fitted. `window`: of the fits, px. The slices are the same for any options, so
/// that deviances can be compared pairwise.
HeldOut fit_held_out(const std::vector<BeadWindow>& beads, const std::vector<BeadPlace>& start,
                     const LearnOptions& options, int window, std::size_t stride);

/// Errors in bins of z.
std::vector<PsfSliceError> errors_over_z(const HeldOut& held_out, double bin_nm, double pixel_size_nm);

/// Fits slices of beads in parallel, in windows of that size. Each bead is fitted with the PSF at its place.
std::vector<SliceFit> fit_slices(const LearntPsf& learnt, int window, const std::vector<BeadWindow>& beads,
                                 const std::vector<std::pair<std::size_t, std::size_t>>& bead_and_slice);
/// The same with one PSF.
std::vector<SliceFit> fit_slices(const SliceFitter& fitter, const std::vector<BeadWindow>& beads,
                                 const std::vector<std::pair<std::size_t, std::size_t>>& bead_and_slice);

}  // namespace glint::lens
