// Sums over the blinks around a blink, from which the slopes of the density at its place follow.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/isa.hpp"

namespace glint {

// Kernel estimates: width beyond the precisions; local Gaussians: width of the window (theory.md, "Drift").
inline constexpr int drift_kernels = 3, drift_windows = 3;
inline constexpr float drift_kernel_nm[drift_kernels] = {0, 8, 20}, drift_window_nm[drift_windows] = {40, 80, 160};
inline constexpr float drift_reach_nm = 330;
inline constexpr int blinks_at_once = 16;  ///< lists of them are filled up to a multiple of it

/// Blinks in columns: nm, nm^2, frames. `count` is a multiple of blinks_at_once; blinks at far_nm fill it up.
struct NearBlinks {
    const float *nm[3], *variance[3], *frame;
    int count;
    static constexpr float far_nm = 1e6;
};

/// The blink that they are near to; those less than `apart` frames away do not count. `finest_nm` is a blur of all.
struct BlinkPlace {
    float nm[3], variance[3], frame, apart, finest_nm;
};

/// Of each kernel the sum and the pulls along x, y, z; of each window the sums of weights, of their squares, of the differences x, y, z and of
/// xx, xy, yy, xz, yz, zz.
struct BlinkSums {
    float kernel[drift_kernels][4], window[drift_windows][11];
};

/// With 2 axes, sums with z stay 0.
GLINT_PER_ISA(void blink_sums(const NearBlinks& near, const BlinkPlace& place, int axes, BlinkSums& to);)

}  // namespace glint
