// The fit on a GPU: one ROI per thread. A block first loads its ROIs into shared memory, converting counts to the
// variables d' and mu' of theory.md, eq. 2.1 to 2.3; then every thread runs the kernel of fit/kernel.hpp
// independently.
//
// Global memory is read in coalesced 16-byte loads, which would not be possible with one thread per ROI. The iteration
// then reads only shared memory.
//
// One fit per thread instead of per warp needs no reductions, leaves no threads idle for small ROIs, and uses the same
// source as the CPU. In return, a warp runs until its slowest fit has converged, and registers limit the number of
// warps. GaussianXYNB reaches 3.9e9 fits/s with 7x7 px on an H200, about ten times what the PCIe link transfers.
// SPDX-License-Identifier: MIT
#pragma once

#include "psf/gpu_lane.hpp"

#include "fit/cuda/fit_launch.hpp"
#include "fit/kernel.hpp"
#include "gpu/kernel_abi.hpp"

namespace glint::GLINT_ISA {

/// Several pixel counts in one 16-byte load.
struct alignas(16) Bytes16 {
    unsigned word[4];
};

/// Returns the k-th count of such a load.
GLINT_INLINE float unpack(Bytes16 b, int k, GpuPixel type) {
    // The bits of a float, reinterpreted; integers are little endian, as on every host that CUDA supports.
    if (type == GpuPixel::f32) return lane_of(int(b.word[k]));
    if (type == GpuPixel::u16) return float((b.word[k / 2] >> (16 * (k % 2))) & 0xffffu);
    return float((b.word[k / 4] >> (8 * (k % 4))) & 0xffu);
}

/// A block's ROIs in shared memory. Each plane contains one ROI per thread, `shared_stride` apart.
struct SharedRois {
    float* data;      // d' (eq. 2.2); NaN for an unusable pixel
    float* known;     // m / f + v / f^2 per pixel, or null
    float* variance;  // v / f^2 per pixel, or null; shares the memory of `known` without an additive signal
    float* weight;    // q per pixel, or null
};

/// `fixed`: the ROI size, 0 for any; `mapped`: with values per pixel besides the counts; `weighted`: with a map of q.
template <class Psf, int fixed, bool mapped, bool weighted = false>
struct FitKernel {
    static constexpr unsigned max_threads = gpu_block_threads;
    /// Minimum of resident blocks per multiprocessor (__launch_bounds__). With 0, the compiler decides. For the mapped
    /// kernels it would spill registers to fit one more block. From 13 px on, shared memory has no room for that block
    /// anyway.
    static constexpr unsigned min_blocks = !mapped ? 0 : fixed >= 13 ? 2 : fixed == 5 ? 4 : 0;

    static GLINT_INLINE int size(const FitLaunch& launch) {
        const int s = fixed ? fixed : launch.options.size;
        // The host has checked the size, so loops need no test for zero iterations.
        if (s < 3) __builtin_unreachable();
        return s;
    }

    /// The planes of the block's shared memory that this kernel uses. Their number must equal PixelPlanes::count(),
    /// which determines the launch's size on the host. Variance and known part differ only by the additive signal.
    /// Without one they share a plane, so that more blocks can be resident.
    static GLINT_INLINE SharedRois shared(gpu::Scratch scratch, gpu::Index index, int size, bool separate_variance) {
        const unsigned plane = index.block_dim * shared_stride(size);
        float* data = scratch.as<float>();
        if (!mapped) return {data, nullptr, nullptr, nullptr};
        float* variance = data + (separate_variance ? 2 : 1) * plane;
        return {data, data + plane, variance, weighted ? variance + plane : nullptr};
    }

    /// Converts the count of pixel q of the block, and stores it at its place in shared memory. `first`: the block's
    /// first ROI.
    ///
    /// Applies the same checks as fit_model.hpp on the CPU, written so that NaN fails them: beyond 1e9 e-, negative
    /// variances or signals, non-positive efficiencies. An unusable pixel becomes NaN only in `data`; check_pixels()
    /// clears its other planes.
    static GLINT_INLINE void store_pixel(const SharedRois& to, const FitLaunch& launch, unsigned first, unsigned q,
                                         float count, const GpuCameraPixel* maps, const int* corners,
                                         const float* variance, const float* additive) {
        const int s = size(launch);
        const unsigned pixels = s * s, stride = shared_stride(s);
        const float scale = 1.0f / launch.options.shot_noise, scale2 = scale * scale;
        unsigned at = q;
        float offset = launch.offset, factor = launch.factor, v = launch.options.variance;
        if (!mapped) {  // eq. 2.1 and 2.2 as one multiplication and addition
            const float value = count * (factor * scale) + (v * scale2 - offset * factor * scale);
            // Odd sizes have an odd number of pixels, which is the stride itself: no division for common sizes.
            if (stride != pixels) at = q / pixels * stride + q % pixels;
            // Integers are always usable.
            const bool good = launch.pixel != GpuPixel::f32 || abs(value) < 1e9f;
            to.data[at] = good ? max(value, 0.0f) : lane_of(0x7fc00000);
            return;
        }
        const unsigned roi = q / pixels, p = q % pixels;
        float efficiency = 1;
        at = roi * stride + p;
        if (maps) {
            const unsigned j = p / unsigned(s), i = p % unsigned(s), k = first + roi;
            // Corners are unchecked. Negative ones wrap to large numbers, so one comparison with `end` keeps every load
            // inside the map. The row's status then reports the error.
            const unsigned x = corners[k], y = corners[launch.count + k], width = launch.map_width;
            const unsigned index = (y + j) * width + x + i, end = width * unsigned(launch.map_height);
            const GpuCameraPixel here = maps[index < end ? index : 0];  // out of bounds: mark_outside_maps() reports it
            offset = here.offset, factor = here.factor, v = here.variance;
            if (weighted) efficiency = here.qe;
        }
        const float d = (count - offset) * factor;
        bool good = abs(d) < 1e9f;
        if (variance) {
            // A variance given with the ROIs replaces the camera's. 64-bit index, because a batch may have more than
            // 2^31 values.
            v = variance[std::size_t(first) * pixels + q];
            good = good & (v >= 0.0f) & (v < 1e9f);
        }
        if constexpr (weighted) {
            if (variance) {  // q follows the variances, in the same layout
                efficiency = variance[std::size_t(launch.count) * pixels + std::size_t(first) * pixels + q];
                good = good & (efficiency > 0.0f) & (efficiency < 1e9f);
            }
            to.weight[at] = efficiency;
            v *= efficiency;
        }
        float known = v * scale2;
        const float value = max(d * scale + known, 0.0f);
        to.variance[at] = known;
        if (additive) {
            const float m = additive[std::size_t(first) * pixels + q];
            good = good & (m >= 0.0f) & (m < 1e9f);
            known += m * scale;
        }
        to.known[at] = known;
        to.data[at] = good ? value : lane_of(0x7fc00000);
    }

    /// First phase, by all threads of the block together: fills shared memory. Pixels of ROIs beyond the last one are
    /// neither read nor written; the threads that would fit them return immediately.
    static GLINT_INLINE void stage(gpu::Index index, gpu::Scratch scratch, FitLaunch launch,
                                   const unsigned char* counts, const GpuCameraPixel* maps, const int* corners,
                                   const float* variance, const float* additive, const float*, float*,
                                   unsigned char* results) {
        const int s = size(launch);
        if (mapped && maps) mark_outside_maps(index, launch, corners, results);
        const SharedRois to = shared(scratch, index, s, additive != nullptr);
        const unsigned first = index.block * index.block_dim;
        // The last block may have fewer ROIs than threads.
        const unsigned left = launch.count - first, pixels = s * s;
        const unsigned total = (left < index.block_dim ? left : index.block_dim) * pixels;
        const GpuPixel type = launch.pixel;
        const unsigned bytes = type == GpuPixel::f32 ? 4 : type == GpuPixel::u16 ? 2 : 1;
        const unsigned char* from = counts + std::size_t(first) * pixels * bytes;
        // 16 bytes per load, whatever the pixel type; the remainder is read one by one below. Aligned: each part of the
        // buffer begins at 256 bytes (BatchLayout), and a block has a multiple of 16 ROIs.
        const unsigned many = 16 / bytes, whole = total / many;
        const Bytes16* wide = reinterpret_cast<const Bytes16*>(from);
        const auto store_all = [&](unsigned q, Bytes16 b, int n, GpuPixel as) {
            GLINT_UNROLL
            for (int k = 0; k < n; ++k)
                store_pixel(to, launch, first, q * n + k, unpack(b, k, as), maps, corners, variance, additive);
        };
        for (unsigned q = index.thread; q < whole; q += index.block_dim) {
            const Bytes16 b = wide[q];
            // The type is the same for all threads, so these branches do not diverge; as constants they let the loops
            // unroll.
            if (type == GpuPixel::f32)
                store_all(q, b, 4, GpuPixel::f32);
            else if (type == GpuPixel::u16)
                store_all(q, b, 8, GpuPixel::u16);
            else
                store_all(q, b, 16, GpuPixel::u8);
        }
        for (unsigned q = whole * many + index.thread; q < total; q += index.block_dim) {
            const float count = type == GpuPixel::f32   ? reinterpret_cast<const float*>(from)[q]
                                : type == GpuPixel::u16 ? float(reinterpret_cast<const unsigned short*>(from)[q])
                                                        : float(from[q]);
            store_pixel(to, launch, first, q, count, maps, corners, variance, additive);
        }
    }

    /// Initialises every row's status: 0, or gpu_outside_maps if the ROI is not inside the camera's maps.
    ///
    /// Done on the GPU, which reads the corners anyway. On the host, this took 4 of 22 ms (7x7, uint16), limited by
    /// memory bandwidth. An unsigned comparison also catches negative corners. The host has checked that the maps are
    /// at least as large as a ROI.
    static GLINT_INLINE void mark_outside_maps(gpu::Index index, const FitLaunch& launch, const int* corners,
                                               unsigned char* bytes) {
        const unsigned row = index.global();
        if (row >= launch.count) return;
        const unsigned x = corners[row], y = corners[launch.count + row];
        const bool outside =
            x > unsigned(launch.map_width - size(launch)) || y > unsigned(launch.map_height - size(launch));
        bytes[std::size_t(launch.count) + row] = outside ? gpu_outside_maps : 0;
    }

    /// Second phase, after a barrier: fits one ROI per thread and writes its row of the results. The only divergence is
    /// in the number of iterations. Writes are coalesced: column by column, neighbouring threads have neighbouring
    /// rows.
    static GLINT_INLINE void compute(gpu::Index index, gpu::Scratch scratch, FitLaunch launch, const unsigned char*,
                                     const GpuCameraPixel* maps, const int* corners, const float*,
                                     const float* additive, const float* start, float* columns, unsigned char* bytes) {
        const unsigned row = index.global();
        if (row >= launch.count) return;
        const int s = size(launch), pixels = s * s;
        const SharedRois rois = shared(scratch, index, s, additive != nullptr);
        const unsigned mine = index.thread * shared_stride(s);
        const float scale = 1.0f / launch.options.shot_noise;
        // With one lane, the ROI in shared memory is already a group: no transpose.
        GroupPixels roi{rois.data + mine,
                        mapped ? rois.known + mine : nullptr,
                        mapped ? rois.variance + mine : nullptr,
                        scale * scale * launch.options.variance,
                        scale * scale * launch.options.variance,
                        scale * scale * launch.options.variance,
                        s,
                        weighted ? rois.weight + mine : nullptr};
        Psf psf{launch.psf};
        if constexpr (requires { psf.choose_cell(Lane{}, Lane{}); }) {
            // The same for all threads, so that a PSF of one cell reads no corners.
            if (launch.psf.table.cells_x * launch.psf.table.cells_y > 1) {
                const float to_middle = 0.5f * float(s - 1);
                psf.choose_cell(float(corners[row]) + to_middle, float(corners[launch.count + row]) + to_middle);
            }
        }
        GroupFit<Psf, fixed, mapped, weighted> fit(roi, psf, launch.options);
        // Unusable pixels are NaN, which propagates to the start estimate of bg. So they need no test of their own in
        // the common case; where bg is not a finite number, the ROI is cleared and the estimate repeated.
        bool bad = false;
        // With maps, the minimum known part is always needed. With all parameters given, bg is not computed from the
        // pixels and cannot reveal bad ones.
        if (mapped || launch.known_starts > 2) bad = check_pixels(rois, mine, pixels, roi);
        GLINT_UNROLL_BY(1)
        for (int attempt = 0; attempt < 2; ++attempt) {
            set_start(fit, launch, start, row);
            // False for NaN, and for an estimate that has overflowed. The loop is not unrolled: the code is there once.
            if (mapped || fit.background() < 1e30f) break;
            bad = check_pixels(rois, mine, pixels, roi);
        }
        constexpr int P = GroupResult<Psf>::P;
        const std::size_t n = launch.count;
        GroupResult<Psf> result;
        // Cleared ROIs run like all ROIs: they converge or fail quickly, and their status says `bad input`.
        fit.run(result);
        // Uniform for all threads, so no divergence. As in fit_model.hpp.
        if (launch.options.multiplied)
            fit.template add_goodness<PixelNoise::multiplied>(result.goodness);
        else if (mapped || launch.options.variance > 0)
            fit.template add_goodness<PixelNoise::poisson>(result.goodness);
        else
            fit.template add_goodness<PixelNoise::ideal>(result.goodness);

        const int status = status_of(result, float(s), bad);
        GLINT_UNROLL
        for (int k = 0; k < P; ++k) {
            // N and bg were divided by f (eq. 2.2).
            const float unit = k == 2 || k == 3 ? launch.options.shot_noise : 1.0f;
            columns[k * n + row] = result.theta[k] * unit;
            // 0 without a bound: the matrix was singular or the input bad.
            columns[(P + k) * n + row] = status >= 3 ? 0.0f : sqrt(result.variance[k]) * unit;
        }
        columns[2 * P * n + row] = bad ? 0.0f : -result.goodness.half_deviance;
        columns[(2 * P + 1) * n + row] = bad ? 0.0f : p_value(result.goodness, float(pixels), float(P));
        bytes[row] = static_cast<unsigned char>(result.iterations);
        // The initial status is read again here, which saves a register during the fit.
        const unsigned char begun = mapped && maps ? bytes[n + row] : 0;
        bytes[n + row] = static_cast<unsigned char>(begun | status);
    }

    /// Start values: estimated, or those given for x and y or for all parameters. Columns of `count` values.
    static GLINT_INLINE void set_start(GroupFit<Psf, fixed, mapped, weighted>& fit, const FitLaunch& launch,
                                       const float* start, unsigned row) {
        const std::size_t n = launch.count;
        if (launch.known_starts == 0) return fit.estimate_start();
        if (launch.known_starts == 2) return fit.estimate_start(start[row], start[n + row]);
        Lane theta[GroupResult<Psf>::P];
        GLINT_UNROLL
        for (int k = 0; k < GroupResult<Psf>::P; ++k)
            theta[k] = start[k * n + row] * (k == 2 || k == 3 ? 1.0f / launch.options.shot_noise : 1.0f);
        fit.start_from(theta);
    }

    /// Returns true if the ROI has unusable pixels, and clears it then. Also finds the least known part. A thread
    /// accesses only its own ROI, so no barrier is needed.
    static GLINT_INLINE bool check_pixels(const SharedRois& rois, unsigned mine, int pixels, GroupPixels& roi) {
        float check = 0, least = 3e38f;
        GLINT_UNROLL
        for (int p = 0; p < pixels; ++p) {
            check += rois.data[mine + p] * 0.0f;  // 0, or NaN if any pixel is
            if (mapped) least = min(least, rois.known[mine + p]);
        }
        if (mapped) roi.known_least = least;
        if (check == 0.0f) return false;
        for (int p = 0; p < pixels; ++p) {
            // Zeros everywhere and weights of 1: values with which nothing overflows.
            rois.data[mine + p] = 0;
            if (mapped) rois.known[mine + p] = rois.variance[mine + p] = 0;
            if (weighted) rois.weight[mine + p] = 1;
        }
        if (mapped) roi.known_least = 0;
        return true;
    }
};

}  // namespace glint::GLINT_ISA

// All kernels of one PSF model: fit_MODEL_SIZE and fit_MODEL_SIZE_mapped, with SIZE 0 for all other sizes. Maps of the
// quantum efficiency are rare, so there is only fit_MODEL_0_weighted for them.
#define GLINT_FIT_KERNEL(model, size)                                                                            \
    GLINT_KERNEL(fit_##model##_##size, 9, ::glint::GLINT_ISA::FitKernel<::glint::GLINT_ISA::model, size, false>) \
    GLINT_KERNEL(fit_##model##_##size##_mapped, 9, ::glint::GLINT_ISA::FitKernel<::glint::GLINT_ISA::model, size, true>)
#define GLINT_FIT_KERNELS(model)                                                                                       \
    GLINT_KERNEL(fit_##model##_0_weighted, 9, ::glint::GLINT_ISA::FitKernel<::glint::GLINT_ISA::model, 0, true, true>) \
    GLINT_FIT_KERNEL(model, 0)                                                                                         \
    GLINT_FIT_KERNEL(model, 5)                                                                                         \
    GLINT_FIT_KERNEL(model, 7)                                                                                         \
    GLINT_FIT_KERNEL(model, 9)                                                                                         \
    GLINT_FIT_KERNEL(model, 11)                                                                                        \
    GLINT_FIT_KERNEL(model, 13)                                                                                        \
    GLINT_FIT_KERNEL(model, 15)
