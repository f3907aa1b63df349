// How a movie's lone spots differ from the PSF model, and which differences could be mistaken for another molecule.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "fit/joint/joint_fit.hpp"
#include "psf/in_double.hpp"

namespace glint {

/// Half the edge of the window in which a lone spot's residual is examined: as wide as the light that could be mistaken
/// for a molecule.
constexpr int misfit_half_px = 9, misfit_edge_px = 2 * misfit_half_px + 1;

/// Minimum relative error of the width: no lens produces a Gaussian more precisely.
constexpr double min_misfit = 0.02;

/// Residual light of a lone spot. If the model is correct, moments and shares are zero except for noise.
struct SpotResidual {
    /// Second moments beyond those of the model's image, px^2 (theory.md, eq. 10.5), with the diagonal of their
    /// covariance.
    struct Moments {
        double xx = 0, xy = 0, yy = 0, xx_variance = 0, xy_variance = 0, yy_variance = 0, xx_yy_covariance = 0;
    } moments;
    double variance_px2 = 0;  ///< variance of the image, mean of x and y
    /// Photons that a second molecule centred on each pixel would get, as a share of the spot's, with standard errors.
    /// The error is 0 if the share cannot be measured. One image of misfit_edge_px squared for each shape of the second
    /// molecule: first the spot's own, then the given ones. The central pixel is nearest to the spot.
    std::vector<float> share, share_error;
};

/// Refines position, photons and background of a lone spot in all of `pixels`, with its fitted shape, and measures the
/// residual. `others`: further shapes of a second molecule, which are examined close to the spot. Returns nullopt if
/// the window is too small.
using ShapeNumbers = std::array<double, max_parameters - 4>;
std::optional<SpotResidual> measure_residual(const PsfInDouble& psf, int shape_numbers, const JointPixels& pixels,
                                             const Emitter& spot, std::span<const ShapeNumbers> others);

/// What the residuals of many lone spots have in common, and how they vary.
struct PsfMisfit {
    /// m of theory.md, eq. 10.4: the relative error of the width that causes the same second moments
    double width = 0;
    double scatter = 0;  ///< the part of `width` by which spots differ from each other, beyond noise
    std::array<float, satellite_steps> satellites{};  ///< JointOptions::satellites
};
/// Returns the misfit, or nullopt if there are too few residuals or too many look like pairs.
/// - `with_widest`: the width includes the excess of the widest spots over the common moments.
/// - `with_scatter`: shares include their variation from spot to spot, to which unresolved pairs contribute.
std::optional<PsfMisfit> misfit_of(std::span<const SpotResidual> residuals, bool with_widest, bool with_scatter = true);

/// Returns the quantile of at least one value; `part` from 0 (minimum) to 1 (maximum).
double quantile_of(std::vector<double> values, double part);

}  // namespace glint
