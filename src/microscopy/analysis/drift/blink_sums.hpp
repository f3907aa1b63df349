// Sums over the neighbours of a blink. They give the slopes of the density at its position.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/isa.hpp"

namespace glint {

// Widths of the kernels beyond the precisions, and of the windows of the local Gaussians (theory.md, "Drift").
inline constexpr int drift_kernels = 3, drift_windows = 3;
inline constexpr float drift_kernel_nm[drift_kernels] = {0, 8, 20}, drift_window_nm[drift_windows] = {40, 80, 160};
inline constexpr float drift_reach_nm = 330;
inline constexpr int blinks_at_once = 16;  ///< lists of blinks are padded to a multiple of this

/// Blinks in columns: nm, nm^2, frames. `count` is a multiple of blinks_at_once; blinks at far_nm pad the list.
struct NearBlinks {
    const float *nm[3], *variance[3], *frame;
    int count;
    static constexpr float far_nm = 1e6;
};

/// The blink whose neighbours are summed. Blinks less than `apart` frames away do not count. `finest_nm` is an
/// additional blur of all kernels.
struct BlinkPlace {
    float nm[3], variance[3], frame, apart, finest_nm;
};

/// For each kernel: the sum of the weights and the pulls along x, y, z. For each window: the sums of the weights and of
/// their squares, then the weighted sums of the differences x, y, z and of xx, xy, yy, xz, yz, zz.
struct BlinkSums {
    float kernel[drift_kernels][4], window[drift_windows][11];
};

/// Computes the sums. With two axes, sums that contain z are 0.
GLINT_PER_ISA(void blink_sums(const NearBlinks& near, const BlinkPlace& place, int axes, BlinkSums& to);)

}  // namespace glint
