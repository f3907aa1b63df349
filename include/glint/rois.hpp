// Regions of interest: square cut-outs around spots, in photoelectrons, the input of fits.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace glint {

constexpr int min_roi_size = 3, max_roi_size = 31;  ///< px

/// A stack of n square regions of interest. Structure of arrays; owned.
struct Rois {
    int size = 0;                         ///< S, edge in px, 3 to 31, odd or even
    std::vector<float> pixels;            ///< n * S * S photoelectrons, C order (roi, row, column)
    std::vector<std::int32_t> x_corner;   ///< frame column of each ROI's pixel (0, 0); empty: 0 for all
    std::vector<std::int32_t> y_corner;   ///< frame row of the same pixel; empty: 0 for all
    std::vector<std::uint32_t> frame;     ///< from 0; empty: ROI k is from frame k
    std::vector<float> x_start, y_start;  ///< pixel of detection, px in the ROI, where fits start; or empty
    std::vector<float> variance;          ///< n * S * S read variance, e-^2; empty: `variance_scalar` for all
    std::vector<float> additive;  ///< n * S * S known additive signal m of eq. 2.2, e- (other emitters); empty: none
    std::vector<float> qe;        ///< n * S * S relative quantum efficiency q, with `variance`; or empty
    float variance_scalar = 0;    ///< e-^2
    float qe_scalar = 1;          ///< q without `qe`; the shot noise variance is F^2 photoelectrons / q
    float excess_noise = 1;       ///< F^2: 2 for an EMCCD

    /// Returns the number n of ROIs.
    std::size_t count() const { return size > 0 ? pixels.size() / (std::size_t(size) * size) : 0; }
};

}  // namespace glint
