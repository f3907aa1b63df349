// Second moments of a spot under a Gaussian weight that follows its shape.
// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <span>

namespace glint {

/// Centre (px) and covariance (px^2).
struct Moments {
    double x = 0, y = 0, xx = 0, yy = 0, xy = 0;
};

/// Adaptive moments (Bernstein & Jarvis, Astron. J. 123, 583 (2002)): the elliptical Gaussian weight is made the
/// spot's own shape by iteration, so that noise and halos far out count for nothing and any tilt of the axes shows.
/// Nothing when it does not settle inside the ROI.
std::optional<Moments> gaussian_moments(std::span<const float> pixels, int size, double background,
                                        const Moments& start);

}  // namespace glint
