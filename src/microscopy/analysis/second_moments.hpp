// Second moments of a spot with a Gaussian weight that adapts to its shape.
// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <span>

namespace glint {

/// Centre (px) and covariance (px^2).
struct Moments {
    double x = 0, y = 0, xx = 0, yy = 0, xy = 0;
};

/// Adaptive moments (Bernstein & Jarvis, Astron. J. 123, 583 (2002)): an elliptical Gaussian weight is iterated until
/// it has the spot's shape, so that noise and halos far out have no weight, and tilted axes are measured. Empty if it
/// does not converge inside the ROI.
std::optional<Moments> gaussian_moments(std::span<const float> pixels, int size, double background,
                                        const Moments& start);

}  // namespace glint
