// The range of z in which a measured PSF determines z.
// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "glint/calibrate_psf.hpp"

namespace glint::lens {

/// Bins first to last, inclusive; empty() if there is none.
struct UsableBins {
    std::size_t first = 1, last = 0;
    bool empty() const { return first > last; }
};

/// The longest run of good bins that contains the good bin with the smallest CRLB of z (PsfCalibration::z_min_nm).
UsableBins find_usable_bins(const std::vector<PsfSliceError>& bins);

}  // namespace glint::lens
