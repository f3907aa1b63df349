// The penalised least-squares problem for the coefficients of a PSF, and its solution by conjugate gradients.
// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "analysis/lens/bead_model.hpp"
#include "analysis/lens/bead_window.hpp"

namespace glint::lens {

/// Penalties on each coefficient's second difference along z, and on its fourth differences along x and y. Empty:
/// none. Each for one term of the field; `of_changes` is the factor of all terms but the first.
struct Penalty {
    std::vector<float> z, xy;
    double of_changes = 1;
};

/// A bead in the least-squares problem. Borrows its window.
struct WeightedBead {
    const BeadWindow* window = nullptr;
    double photons = 0;
    std::vector<float> weights;  ///< 1 / variance of each pixel, slices x size x size
};

/// Subtracts the weighted mean of each slice, and multiplies by the weights. So a free background of each slice is
/// fitted with whatever else the images are compared with.
void project_backgrounds(const std::vector<float>& weights, std::size_t pixels, std::vector<float>& images);

/// Improves `coefficients` by `iterations` steps of preconditioned conjugate gradients. `terms`: of the field, at each
/// bead (FieldTerms::at()). The coefficients of the terms follow each other.
void improve_coefficients(const SplineGrid& grid, const std::vector<WeightedBead>& beads,
                          const std::vector<BeadModel>& models, const std::vector<std::vector<double>>& terms,
                          const Penalty& penalty, int iterations, std::vector<float>& coefficients);

}  // namespace glint::lens
