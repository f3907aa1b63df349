// Polynomials over the field of view, by which the coefficients of a PSF change.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <vector>

#include "analysis/lens/bead_window.hpp"

namespace glint::lens {

/// Products of Legendre polynomials of x and y, up to a degree in all. The first is 1. On the square around the beads
/// they are orthogonal, so that the coefficients of the first are the mean over it.
struct FieldTerms {
    static constexpr int max_degree = 2;

    int degree = 0;                           ///< 0: the PSF is the same everywhere
    double x_middle_px = 0, y_middle_px = 0;  ///< of the field, in the stacks
    double half_px = 1;                       ///< half the edge of the square

    std::size_t count() const { return std::size_t((degree + 1) * (degree + 2) / 2); }
    /// Returns the values of all terms at a place of the stacks, px.
    std::vector<double> at(double x_px, double y_px) const;
    /// Returns the values at the middle of a bead's window.
    std::vector<double> at(const BeadWindow& window) const;
};

/// Returns terms of that degree for a field that contains the windows' middles.
FieldTerms make_field_terms(const std::vector<BeadWindow>& windows, int degree);

}  // namespace glint::lens
