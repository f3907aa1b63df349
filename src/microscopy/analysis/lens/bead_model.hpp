// A bead's images from B-spline coefficients, and the transposed operation, by one-dimensional passes along x, y and z.
// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "analysis/lens/bead_window.hpp"
#include "analysis/lens/spline_grid.hpp"

namespace glint::lens {

/// The linear map from coefficients to h in all pixels of a bead's slices. All pixels of a row are whole grid steps
/// apart, so that they share four weights. Immutable; safe to share between threads.
class BeadModel {
  public:
    enum class Of { value, x_slope, y_slope, z_slope };  ///< slopes: by the bead's position, per px and per nm

    BeadModel(const SplineGrid& grid, const std::vector<double>& z_nm, int window, const BeadPlace& place,
              Of of = Of::value);

    /// Images of all slices, slices x window x window. Slices outside of the grid are 0.
    std::vector<float> images(const std::vector<float>& coefficients) const;
    /// The transposed map: adds to `coefficients` what the images contribute to each.
    void add_transposed(const std::vector<float>& images, std::vector<float>& coefficients) const;
    /// Whether the slice lies within the grid's range of z.
    bool contains(std::size_t slice) const { return contained_[slice]; }

  private:
    struct Taps {
        int first = 0;
        float weights[4] = {};
    };
    static Taps to_taps(double u, int count, bool slope, double factor);

    SplineGrid grid_;
    int window_;
    Taps x_, y_;           ///< of the first pixel of a row or column
    std::vector<Taps> z_;  ///< of each slice
    std::vector<char> contained_;
};

}  // namespace glint::lens
