// The plain structs that the host passes to the fit kernel.
// SPDX-License-Identifier: MIT
#pragma once

#include "fit/kernel_abi.hpp"

namespace glint {

/// Pixel type of the ROIs; same numbers as glint::PixelType.
enum class GpuPixel : int { u8 = 0, u16 = 1, f32 = 2 };

/// The camera at one pixel of the movie: photoelectrons = (count - offset) * factor; 16 bytes, so one load.
struct alignas(16) GpuCameraPixel {
    float offset, factor;
    float variance;  // v, e-^2
    float qe;        // q
};

/// Kernel parameter, passed by value. Without maps, photoelectrons = (count - offset) * factor.
struct FitLaunch {
    KernelPsf psf;
    KernelOptions options;
    GpuPixel pixel;
    float offset, factor;
    int map_width, map_height;  // px
    int known_starts;           // as KernelInput
    unsigned count;             // ROIs
};

/// Status of a row whose ROI is not inside the camera's maps; not a FitStatus.
constexpr unsigned char gpu_outside_maps = 255;

/// ROI sizes with their own kernel, whose loops over pixels are unrolled; all other sizes share one kernel.
constexpr int gpu_fixed_sizes[] = {5, 7, 9, 11, 13, 15};
constexpr unsigned gpu_block_threads = 128;

/// Stride in floats between the ROIs of adjacent threads in shared memory: odd, so that a warp's accesses have no bank
/// conflicts.
constexpr int shared_stride(int size) { return size * size | 1; }

}  // namespace glint
