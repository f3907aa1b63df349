// The detection filter: its kernels, and its normalisation where the frame's edge clips the window.
// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "detect/rows.hpp"

namespace glint {

/// Kernels of a spot of width sigma_px: the pixel-integrated Gaussian over a window of three sigma (at least
/// 7x7), its square, and a Gaussian of at most 0.8 px for the maxima.
class Filter {
  public:
    explicit Filter(double sigma_px);

    int radius() const { return radius_; }
    Kernels kernels() const { return {radius_, wide_.data(), squared_.data(), narrow_.data()}; }

  private:
    int radius_;
    std::vector<float> wide_, squared_, narrow_;
};

/// For uniform noise the sums over the clipped window are products of sums along each axis, known beforehand.
/// One pair of rows for each way in which the frame's top and bottom can clip the window.
class EdgeNorms {
  public:
    struct Row {
        std::vector<float> box_ratio, norm, narrow_norm;
    };
    EdgeNorms(const Filter& filter, int width, int height);

    const std::vector<int>& class_of() const { return class_of_; }  ///< each row of the frame: which of rows() it has
    const std::vector<Row>& rows() const { return rows_; }

    const float* box_ratio(int y) const { return rows_[std::size_t(class_of_[y])].box_ratio.data(); }
    const float* norm(int y) const { return rows_[std::size_t(class_of_[y])].norm.data(); }
    const float* narrow_norm(int y) const { return rows_[std::size_t(class_of_[y])].narrow_norm.data(); }

  private:
    std::vector<int> class_of_;
    std::vector<Row> rows_;
};

}  // namespace glint
