// How the lone spots of a movie differ from the PSF model, and what of that could pass for another molecule.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "fit/joint/joint_fit.hpp"
#include "psf/in_double.hpp"

namespace glint {

/// Half the edge of the window in which a lone spot's residual is examined: as wide as the light that could pass for a
/// molecule.
constexpr int misfit_half_px = 9, misfit_edge_px = 2 * misfit_half_px + 1;

/// Relative error of the width: no lens makes a Gaussian to better than that.
constexpr double min_misfit = 0.02;

/// What a lone spot's light leaves unexplained. Both are zero but for noise if the PSF is the model's.
struct SpotResidual {
    /// Second moments beyond those of the model's image, px^2 (theory.md, eq. 10.5), with their covariance's diagonal.
    struct Moments {
        double xx = 0, xy = 0, yy = 0, xx_variance = 0, xy_variance = 0, yy_variance = 0, xx_yy_covariance = 0;
    } moments;
    double variance_px2 = 0;  ///< mean of the image's along x and y
    /// Photons that a second molecule centred on that pixel would get, as a share of the spot's, with the standard
    /// error; the error is 0 where it cannot be measured. Images of misfit_edge_px squared, one for each shape of the
    /// second molecule: the spot's own, then the given ones. The centre is the pixel nearest to the spot.
    std::vector<float> share, share_error;
};

/// Refines position, photons and background of a lone spot in all of `pixels`, with the shape as it was fitted, and
/// measures what is left. `others`: further shapes of a second molecule, which are examined close to the spot. Returns
/// nullopt if the window does not suffice.
using ShapeNumbers = std::array<double, max_parameters - 4>;
std::optional<SpotResidual> measure_residual(const PsfInDouble& psf, int shape_numbers, const JointPixels& pixels,
                                             const Emitter& spot, std::span<const ShapeNumbers> others);

/// What the residuals of many lone spots have in common, and how they vary.
struct PsfMisfit {
    double width = 0;    ///< m of theory.md, eq. 10.4: a relative error of the width that has the same second moments
    double scatter = 0;  ///< the part of it by which spots differ from each other, beyond noise
    std::array<float, satellite_steps> satellites{};  ///< JointOptions::satellites
};
/// `with_widest`: m includes by how much the widest spots exceed the common moments.
/// `with_scatter`: shares include how they vary from spot to spot, which unresolved pairs do as well.
/// Returns nullopt for too few residuals, or if too many are those of pairs.
std::optional<PsfMisfit> misfit_of(std::span<const SpotResidual> residuals, bool with_widest, bool with_scatter = true);

/// Of at least one value; `part` from 0 (the least) to 1.
double quantile_of(std::vector<double> values, double part);

}  // namespace glint
