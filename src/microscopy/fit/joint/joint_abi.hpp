// The plain structs that the host passes to joint fits; the same for every instruction set and for GPUs.
// SPDX-License-Identifier: MIT
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "fit/kernel_abi.hpp"

namespace glint {

constexpr int joint_columns = 16;  // on a CPU, rows of pixels are filled up to multiples of these
/// How far from its centre a molecule's light counts: in widths, plus px. About 14 photons in a million are beyond 4.5
/// widths; the additional pixel covers the pixel's own half width.
constexpr float light_reach_widths = 4.5f, light_reach_more_px = 1;
constexpr int most_joint_emitters = 64;  // of a group, or of a block of a large one
/// Changes of a known signal matter if their sum of squares, in standard deviations of the pixels, exceeds this.
constexpr float known_that_matters = 0.1f * 0.1f;
/// So many molecules are looked for where these are known.
constexpr int joint_room(int known) { return known < most_joint_emitters / 4 ? 8 + 2 * known : most_joint_emitters; }

/// A pixel as docs/explanation/theory.md, eq. 2.2 has it; known: of the camera alone.
struct JointPixel {
    float data, known, per_photon, variance;
};
/// Of e photoelectrons, with read variance v and additive signal m, e-^2 and e-, and f = q / F^2.
constexpr JointPixel joint_pixel(float e, float v, float m, float f) {
    const float variance = v * f * f, data = e * f + variance;
    return {data > 0 ? data : 0, variance + m * f, f, variance};
}
/// Whether a pixel is used: not one that is NaN, infinite or absurd.
constexpr bool is_used(float e) { return e < 1e9f && e > -1e9f; }

/// Shares of a molecule's photons by the distance from it: the k-th is that at k steps, and beyond the last it is 0.
constexpr int satellite_steps = 25;
constexpr float satellite_step_px = 0.5f;

/// As JointOptions (fit/joint/joint_fit.hpp).
struct JointNumbers {
    int max_iterations;
    float tolerance, margin_px;
    float least_gain, misfit, least_tilt_gain;
    int most_emitters;    // most_joint_emitters or less
    bool has_satellites;  // whether any of the following is above 0
    float satellites[satellite_steps];
};

/// As PixelNoise (fit/goodness.hpp).
enum class JointNoise : int { ideal, poisson, multiplied };

/// The pixels of a group (theory.md, eq. 2.2), in rows that are `pitch` floats apart. On a CPU, `pitch` is a multiple
/// of 16, and at least 16 more than the width. On a GPU, which has no register of several columns, it is at least the
/// width. An unused pixel, as all beyond the width, has data and known 1 and per_photon 0: it adds nothing to any sum.
struct JointImage {
    int width, height, pitch;
    JointNoise noise;
    const float* data;        // d'
    const float* known;       // what the model has beside the molecules
    const float* per_photon;  // 1 / f
    const float* variance;    // v / f^2, for the p value
    const float* searched;    // 1 where molecules are looked for, else 0; null for a fit alone
};

/// In: count, theta, bg, tilt. Out: all.
struct JointResult {
    int count;
    float bg, bg_crlb, half_deviance, p_value;
    float tilt[2];  // of the background along x and y, per px; bg is that at the image's centre
    int iterations;
    bool converged, singular;
    bool as_it_was;                                     // on a GPU: nothing was to be done, and nothing else is set
    float theta[most_joint_emitters][most_parameters];  // x, y in pixels of the image, N, out: bg there, shape
    float crlb[most_joint_emitters][most_parameters];   // standard deviations
    bool at_bound[most_joint_emitters], settled[most_joint_emitters];
};

}  // namespace glint
