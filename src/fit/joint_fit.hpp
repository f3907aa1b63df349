// Maximum-likelihood fits of several molecules whose images overlap, together, with one background; and the search for
// molecules that the detection did not part (docs/theory.md, section 10).
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "fit/group_goodness.hpp"
#include "glint/fits.hpp"
#include "psf/in_double.hpp"

namespace glint {

/// The pixels of a group: those of a rectangle that are `used`, in C order. All as in docs/theory.md, eq. 2.2.
struct JointPixels {
    int left = 0, top = 0, width = 0, height = 0;  ///< in the frame
    std::vector<std::uint8_t> used, searched;      ///< searched: where molecules are looked for
    std::vector<double> data;                      ///< d'
    std::vector<double> known;                     ///< m / f + v / f^2: what the model has beside the molecules
    std::vector<double> per_photon;                ///< 1 / f
    std::vector<double> variance;                  ///< v / f^2, for the p value
    PixelNoiseKind noise = PixelNoiseKind::poisson;

    std::size_t count() const { return data.size(); }
};

/// One molecule: x, y (frame pixels), N, unused, shape, as in Fits::theta. `crlb`: standard deviations; [3]: of the
/// background that the group shares.
struct Emitter {
    std::array<double, max_parameters> theta{}, crlb{};
};

/// How far from its centre an emitter's light counts, px.
double light_reach_px(const PsfInDouble& psf, const Emitter& emitter);

struct JointOptions {
    int max_iterations = 50;
    double tolerance = 0.01;  ///< as FitOptions::tolerance
    double min_sigma_px = 0.3, max_sigma_px = 31;
    double margin_px = 1.5;  ///< beyond the rectangle
    /// A molecule stays if 2 delta log L exceeds this, plus what a PSF that is by `misfit` wider or narrower than the
    /// model explains: 4 misfit^2 per photon of its neighbours (docs/theory.md, eq. 10.4).
    double least_gain = 20, misfit = 0.05;
    int most_emitters = 64;  ///< in a group
};

struct JointFit {
    std::vector<Emitter> emitters;
    double bg = 0;
    double half_deviance = 0;  ///< -LLR of the group's pixels (eq. 4.1)
    double p_value = 0;        ///< of the group (eq. 4.2)
    int iterations = 0;        ///< of the last fit
    bool converged = false, singular = false;
    std::vector<std::uint8_t> at_bound;  ///< of each emitter
};

/// Fits all emitters and the background from where they are, by damped Fisher scoring; the likelihood rises with each step.
/// Sets everything but `emitters`' number.
void fit_together(const JointPixels& pixels, const PsfInDouble& psf, int shapes, const JointOptions& options,
                  JointFit& fit);

/// Fits together, adds molecules from the residual while they earn their place, and removes those that do not.
/// Returns how many were added, minus those removed.
int find_together(const JointPixels& pixels, const PsfInDouble& psf, int shapes, const JointOptions& options,
                  JointFit& fit);

}  // namespace glint
