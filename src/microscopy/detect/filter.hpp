// The detection filter: its separable kernels, and its normalisation if the frame's edge clips the window
// (docs/explanation/theory.md, eq. 5.3 to 5.7).
// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "base/aligned.hpp"
#include "detect/rows.hpp"
#include "glint/psf.hpp"

namespace glint {

/// Kernels for a spot:
/// - `wide` is the pixel-integrated Gaussian g of eq. 5.1 over a window of three widths (at least 7x7).
/// - `squared` is g^2, for the sum C.
/// - `narrow` is h of eq. 5.7, a Gaussian of at most 0.8 px whose maxima are the spots.
class Filter {
  public:
    explicit Filter(const MatchedFilter& matched);

    int radius() const { return radius_; }
    Kernels kernels() const { return {radius_, wide_.data(), squared_.data(), narrow_.data(), pairs_.data()}; }

  private:
    int radius_;
    std::vector<float> wide_, squared_, narrow_, pairs_;
};

/// Precomputed norms for uniform noise. The sums A', B' and C' of eq. 5.6 over the clipped window are products of sums
/// along each axis. Rows that the frame's top and bottom clip in the same way share one entry (a class). All rows far
/// from the edges are one class.
class EdgeNorms {
  public:
    struct Row {
        AlignedFloats box_ratio, norm, narrow_norm;
    };
    EdgeNorms(const Filter& filter, int width, int height);

    const std::vector<int>& class_of() const { return class_of_; }  ///< index into rows() for each row of the frame
    const std::vector<Row>& rows() const { return rows_; }

    const float* box_ratio(int y) const { return rows_[std::size_t(class_of_[y])].box_ratio.data(); }
    const float* norm(int y) const { return rows_[std::size_t(class_of_[y])].norm.data(); }
    const float* narrow_norm(int y) const { return rows_[std::size_t(class_of_[y])].narrow_norm.data(); }

  private:
    std::vector<int> class_of_;
    std::vector<Row> rows_;
};

}  // namespace glint
