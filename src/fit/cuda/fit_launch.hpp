// What crosses from the host into a launch of the fit.
// SPDX-License-Identifier: MIT
#pragma once

#include "fit/kernel_abi.hpp"

namespace glint {

/// How the pixels of ROIs come in; the numbers of glint::PixelType.
enum class GpuPixel : int { u8 = 0, u16 = 1, f32 = 2 };

/// The camera at one pixel of the movie: photoelectrons = (count - offset) * factor; 16 bytes, so one load.
struct alignas(16) GpuCameraPixel {
    float offset, factor;
    float variance;  // v, e-^2
    float qe;        // q
};

/// By value. Photoelectrons = (count - offset) * factor where there are no maps.
struct FitLaunch {
    KernelPsf psf;
    KernelOptions options;
    GpuPixel pixel;
    float offset, factor;
    int map_width, map_height;  // px
    int known_starts;           // as KernelInput
    unsigned count;             // ROIs
};

/// What a row has for its status whose ROI does not lie inside the camera's maps; no FitStatus.
constexpr unsigned char gpu_outside_maps = 255;

/// Sizes with a kernel of their own, whose pixels' loops are unrolled; the others share one.
constexpr int gpu_fixed_sizes[] = {5, 7, 9, 11, 13, 15};
constexpr unsigned gpu_block_threads = 128;

/// Floats of shared memory between one thread's ROI and the next one's: odd, so that a warp's threads meet no bank
/// twice.
constexpr int shared_stride(int size) { return size * size | 1; }

}  // namespace glint
