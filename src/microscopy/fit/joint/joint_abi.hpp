// The plain structs that the host passes to joint fits; the same for every instruction set and for GPUs.
// SPDX-License-Identifier: MIT
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "fit/kernel_abi.hpp"

namespace glint {

constexpr int joint_columns = 16;  // on a CPU, rows of pixels are padded to multiples of this
/// How far from its centre a molecule's light counts: in widths, plus px. About 14 photons in a million are beyond 4.5
/// widths; the additional pixel covers the pixel's own half width.
constexpr float light_reach_widths = 4.5f, light_reach_more_px = 1;
constexpr int max_joint_emitters = 64;  // in a group, or in a block of a large group
/// Changes of a known signal matter if their sum of squares, in standard deviations of the pixels, exceeds this.
constexpr float known_that_matters = 0.1f * 0.1f;
/// Returns how many molecules a search may have if `known` are known.
constexpr int joint_room(int known) { return known < max_joint_emitters / 4 ? 8 + 2 * known : max_joint_emitters; }

/// A pixel as in docs/explanation/theory.md, eq. 2.2. `known`: only the camera's part.
struct JointPixel {
    float data, known, per_photon, variance;
};
/// Returns the pixel for e photoelectrons, with read variance v and additive signal m, e-^2 and e-, and f = q / F^2.
constexpr JointPixel joint_pixel(float e, float v, float m, float f) {
    const float variance = v * f * f, data = e * f + variance;
    return {data > 0 ? data : 0, variance + m * f, f, variance};
}
/// Returns true if a pixel is used: not NaN, infinite or absurdly large.
constexpr bool is_used(float e) { return e < 1e9f && e > -1e9f; }

/// Shares of a molecule's photons by the distance from it: the k-th is that at k steps, and beyond the last it is 0.
constexpr int satellite_steps = 25;
constexpr float satellite_step_px = 0.5f;

/// See JointOptions (fit/joint/joint_fit.hpp).
struct JointNumbers {
    int max_iterations;
    float tolerance, margin_px;
    float min_gain, misfit, min_tilt_gain;
    int max_emitters;     // max_joint_emitters or less
    bool has_satellites;  // whether any of the following is above 0
    float satellites[satellite_steps];
};

/// See PixelNoise (fit/goodness.hpp).
enum class JointNoise : int { ideal, poisson, multiplied };

/// The pixels of a group (theory.md, eq. 2.2), in rows that are `pitch` floats apart. On a CPU, `pitch` is a multiple
/// of 16, and at least 16 more than the width. On a GPU, which has no registers of several columns, it is at least the
/// width. Unused pixels, including those beyond the width, have data and known 1 and per_photon 0, so they add nothing
/// to any sum.
struct JointImage {
    int width, height, pitch;
    JointNoise noise;
    const float* data;        // d'
    const float* known;       // the model without the molecules
    const float* per_photon;  // 1 / f
    const float* variance;    // v / f^2, for the p value
    const float* searched;    // 1 for pixels searched for molecules, else 0; null for a fit without a search
};

/// In: count, theta, bg, tilt. Out: all.
struct JointResult {
    int count;
    float bg, bg_crlb, half_deviance, p_value;
    float tilt[2];  // of the background along x and y, per px; bg is that at the image's centre
    int iterations;
    bool converged, singular;
    bool as_it_was;  // on a GPU: there was nothing to do, and no other member is set
    float theta[max_joint_emitters][max_psf_parameters];  // x, y in pixels of the image, N, out: bg there, shape
    float crlb[max_joint_emitters][max_psf_parameters];   // standard deviations
    bool at_bound[max_joint_emitters], settled[max_joint_emitters];
};

}  // namespace glint
