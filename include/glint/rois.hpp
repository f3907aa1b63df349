// Square cut-outs around spots, in photoelectrons: what is fitted.
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
    std::vector<std::int32_t> x_corner;   ///< frame column of each ROI's pixel (0, 0); empty means 0 everywhere
    std::vector<std::int32_t> y_corner;   ///< frame row, likewise
    std::vector<std::uint32_t> frame;     ///< from 0; empty means ROI k is from frame k
    std::vector<float> x_start, y_start;  ///< where the spot was found, px in the ROI: fits start there; or empty
    std::vector<float> variance;          ///< n * S * S read variance, e-^2; empty: `variance_scalar` everywhere
    std::vector<float> additive;          ///< n * S * S known additive signal m, e- (other emitters); empty: none
    std::vector<float> qe;                ///< n * S * S relative quantum efficiency q, with `variance`; or empty
    float variance_scalar = 0;            ///< e-^2
    float qe_scalar = 1;                  ///< q where there is no `qe`: light has the variance F^2 photoelectrons / q
    float excess_noise = 1;               ///< F^2: 2 on an EMCCD

    std::size_t count() const { return size > 0 ? pixels.size() / (std::size_t(size) * size) : 0; }
};

}  // namespace glint
