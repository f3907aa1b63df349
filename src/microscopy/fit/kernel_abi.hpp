// The plain structs that the host passes to the kernel; the same for every instruction set and for GPUs.
// SPDX-License-Identifier: MIT
#pragma once

#include <stdint.h>

#include "psf/facts.hpp"

namespace glint {

constexpr int max_psf_parameters = 4 + max_shape_parameters;  // of any model; glint::max_parameters

struct KernelOptions {
    int size;  // S, px
    int max_iterations;
    float tolerance;   // of a step, in units of the parameter's CRLB
    float margin_px;   // x and y stay within [-margin, S - 1 + margin]
    float variance;    // read variance v, e-^2, without a map
    float shot_noise;  // f = F^2 / q of eq. 2.2; with a map of q, F^2
    bool multiplied;   // by an EM register: F^2 > 1
};

/// ROIs [0, count) of a stack; pointers to ROI 0, borrowed; null if absent.
struct KernelInput {
    const float* pixels;                     // count * S * S, e-
    const float* variance;                   // count * S * S, e-^2
    const float* additive;                   // count * S * S, e-
    int known_starts;                        // how many leading parameters have start values: 0, 2 (x, y) or all
    const float* start[max_psf_parameters];  // count each
    int64_t count;
    const float* qe;  // count * S * S, q
    // Where each ROI lies in the movie, px: count each, if the PSF changes over the field.
    const int32_t* x_corner = nullptr;
    const int32_t* y_corner = nullptr;
};

/// Columns of count rows each, as in glint::Fits; borrowed.
struct KernelOutput {
    float* theta[max_psf_parameters];
    float* crlb[max_psf_parameters];
    float* log_likelihood_ratio;
    float* p_value;
    uint8_t* iterations;
    uint8_t* status;
};

}  // namespace glint
