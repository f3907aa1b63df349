// Refits overlapping spots, each with the models of its neighbours as a known signal.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "glint/fits.hpp"
#include "glint/psf.hpp"
#include "glint/rois.hpp"

namespace glint {

/// For each ROI, the spots of its frame that reach into it, in order.
struct NeighborsFound {
    std::vector<std::vector<std::size_t>> of;
    std::size_t pairs_compared = 0;  ///< the cost of the search
};
NeighborsFound neighbors_of(const Rois& rois, const Fits& fits, const Psf& psf, double pixel_size_nm);

/// Refits, `rounds` times, every ROI into which other spots of its frame reach. ROIs must be ordered by frame and have
/// corners. Rois::additive receives the neighbours' models at their latest parameters (theory.md, eq. 2.2). `fit_again`
/// then starts each fit again from its peak. Spots without neighbours cost no time. Replaces `fits`.
void refit_with_neighbors(const Rois& rois, const Psf& psf, double pixel_size_nm, int rounds,
                          const std::function<Fits(const Rois&)>& fit_again, Fits& fits);

}  // namespace glint
