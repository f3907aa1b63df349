// The fit on a GPU: one ROI a thread. A block first brings its ROIs into shared memory, turning counts into the fit's
// variables on the way (docs/theory.md, eq. 2.2); then every thread runs the kernel of fit/kernel.hpp on its own.
// SPDX-License-Identifier: MIT
#pragma once

#define GLINT_SCALAR_LANE 1
#ifdef __CUDACC__
#define GLINT_ISA cuda
#else
#define GLINT_ISA simulated_gpu
#endif

#include "fit/cuda/fit_launch.hpp"
#include "fit/kernel.hpp"
#include "gpu/kernel_abi.hpp"

namespace glint::GLINT_ISA {

/// Pixel counts, many to a load.
struct alignas(16) Bytes16 {
    unsigned word[4];
};

GLINT_INLINE float unpack(Bytes16 b, int k, GpuPixel type) {
    if (type == GpuPixel::f32) return lane_of(int(b.word[k]));
    if (type == GpuPixel::u16) return float((b.word[k / 2] >> (16 * (k % 2))) & 0xffffu);
    return float((b.word[k / 4] >> (8 * (k % 4))) & 0xffu);
}

/// Where a block's ROIs lie in its shared memory.
struct SharedRois {
    float* data;      // d' of docs/theory.md; not-a-number where a pixel cannot be used
    float* known;     // per pixel, or null
    float* variance;  // v / f^2 per pixel, or null: the same as `known` where nothing else is known
    float* weight;    // q per pixel, or null
};

/// `weighted`: with a map of q.
template <class Psf, int fixed, bool mapped, bool weighted = false>
struct FitKernel {
    static constexpr unsigned max_threads = gpu_block_threads;
    /// Left to itself (0), the compiler spills a few registers of these for one block more. From 13 px on shared memory
    /// has no room for that block.
    static constexpr unsigned min_blocks = !mapped ? 0 : fixed >= 13 ? 2 : fixed == 5 ? 4 : 0;

    static GLINT_INLINE int size(const FitLaunch& launch) {
        const int s = fixed ? fixed : launch.options.size;
        if (s < 3) __builtin_unreachable();
        return s;
    }

    static GLINT_INLINE SharedRois shared(gpu::Scratch scratch, gpu::Index index, int size, bool separate_variance) {
        const unsigned plane = index.block_dim * shared_stride(size);
        float* data = scratch.as<float>();
        if (!mapped) return {data, nullptr, nullptr, nullptr};
        float* variance = data + (separate_variance ? 2 : 1) * plane;
        return {data, data + plane, variance, weighted ? variance + plane : nullptr};
    }

    /// One pixel: where it lies in its ROI and block, and its count.
    static GLINT_INLINE void put(const SharedRois& to, const FitLaunch& launch, unsigned first, unsigned q, float count,
                                 const GpuCameraPixel* maps, const int* corners, const float* variance,
                                 const float* additive) {
        const int s = size(launch);
        const unsigned pixels = s * s, stride = shared_stride(s);
        const float scale = 1.0f / launch.options.shot_noise, scale2 = scale * scale;
        unsigned at = q;
        float offset = launch.offset, factor = launch.factor, v = launch.options.variance;
        if (!mapped) {  // in one multiplication
            const float value = count * (factor * scale) + (v * scale2 - offset * factor * scale);
            if (stride != pixels) at = q / pixels * stride + q % pixels;
            const bool good = launch.pixel != GpuPixel::f32 || abs(value) < 1e9f;
            to.data[at] = good ? max(value, 0.0f) : lane_of(0x7fc00000);
            return;
        }
        const unsigned roi = q / pixels, p = q % pixels;
        float efficiency = 1;
        at = roi * stride + p;
        if (maps) {
            const unsigned j = p / unsigned(s), i = p % unsigned(s), k = first + roi;
            const unsigned x = corners[k], y = corners[launch.count + k], width = launch.map_width;
            const unsigned index = (y + j) * width + x + i, end = width * unsigned(launch.map_height);
            const GpuCameraPixel here = maps[index < end ? index : 0];  // mark_outside_maps() tells
            offset = here.offset, factor = here.factor, v = here.variance;
            if (weighted) efficiency = here.qe;
        }
        const float d = (count - offset) * factor;
        bool good = abs(d) < 1e9f;
        if (variance) {
            v = variance[std::size_t(first) * pixels + q];
            good = good & (v >= 0.0f) & (v < 1e9f);
        }
        if constexpr (weighted) {
            if (variance) {  // then q lies behind it, ROI for ROI
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

    static GLINT_INLINE void stage(gpu::Index index, gpu::Scratch scratch, FitLaunch launch,
                                   const unsigned char* counts, const GpuCameraPixel* maps, const int* corners,
                                   const float* variance, const float* additive, const float*, float*,
                                   unsigned char* results) {
        const int s = size(launch);
        if (mapped && maps) mark_outside_maps(index, launch, corners, results);
        const SharedRois to = shared(scratch, index, s, additive != nullptr);
        const unsigned first = index.block * index.block_dim;
        const unsigned left = launch.count - first, pixels = s * s;
        const unsigned total = (left < index.block_dim ? left : index.block_dim) * pixels;
        const GpuPixel type = launch.pixel;
        const unsigned bytes = type == GpuPixel::f32 ? 4 : type == GpuPixel::u16 ? 2 : 1;
        const unsigned char* from = counts + std::size_t(first) * pixels * bytes;
        const unsigned many = 16 / bytes, whole = total / many;
        const Bytes16* wide = reinterpret_cast<const Bytes16*>(from);
        const auto put_all = [&](unsigned q, Bytes16 b, int n, GpuPixel as) {
            GLINT_UNROLL
            for (int k = 0; k < n; ++k)
                put(to, launch, first, q * n + k, unpack(b, k, as), maps, corners, variance, additive);
        };
        for (unsigned q = index.thread; q < whole; q += index.block_dim) {
            const Bytes16 b = wide[q];
            if (type == GpuPixel::f32)
                put_all(q, b, 4, GpuPixel::f32);
            else if (type == GpuPixel::u16)
                put_all(q, b, 8, GpuPixel::u16);
            else
                put_all(q, b, 16, GpuPixel::u8);
        }
        for (unsigned q = whole * many + index.thread; q < total; q += index.block_dim) {
            const float count = type == GpuPixel::f32   ? reinterpret_cast<const float*>(from)[q]
                                : type == GpuPixel::u16 ? float(reinterpret_cast<const unsigned short*>(from)[q])
                                                        : float(from[q]);
            put(to, launch, first, q, count, maps, corners, variance, additive);
        }
    }

    /// Every row's status is begun: 0, or what no status has where the ROI does not lie inside the camera's maps.
    static GLINT_INLINE void mark_outside_maps(gpu::Index index, const FitLaunch& launch, const int* corners,
                                               unsigned char* bytes) {
        const unsigned row = index.global();
        if (row >= launch.count) return;
        const unsigned x = corners[row], y = corners[launch.count + row];
        const bool outside =
            x > unsigned(launch.map_width - size(launch)) || y > unsigned(launch.map_height - size(launch));
        bytes[std::size_t(launch.count) + row] = outside ? gpu_outside_maps : 0;
    }

    static GLINT_INLINE void compute(gpu::Index index, gpu::Scratch scratch, FitLaunch launch, const unsigned char*,
                                     const GpuCameraPixel* maps, const int*, const float*, const float* additive,
                                     const float* start, float* columns, unsigned char* bytes) {
        const unsigned row = index.global();
        if (row >= launch.count) return;
        const int s = size(launch), pixels = s * s;
        const SharedRois rois = shared(scratch, index, s, additive != nullptr);
        const unsigned mine = index.thread * shared_stride(s);
        const float scale = 1.0f / launch.options.shot_noise;
        GroupPixels roi{rois.data + mine,
                        mapped ? rois.known + mine : nullptr,
                        mapped ? rois.variance + mine : nullptr,
                        scale * scale * launch.options.variance,
                        scale * scale * launch.options.variance,
                        scale * scale * launch.options.variance,
                        s,
                        weighted ? rois.weight + mine : nullptr};
        const Psf psf{launch.psf};
        GroupFit<Psf, fixed, mapped, weighted> fit(roi, psf, launch.options);
        // A pixel that cannot be used shows in the estimate, which has them all in it; then all pixels are made dark.
        bool bad = false;
        if (mapped || launch.known_starts > 2) bad = look_through(rois, mine, pixels, roi);
        GLINT_UNROLL_BY(1)
        for (int attempt = 0; attempt < 2; ++attempt) {
            begin(fit, launch, start, row);
            if (mapped || fit.background() < 1e30f) break;
            bad = look_through(rois, mine, pixels, roi);
        }
        constexpr int P = GroupResult<Psf>::P;
        const std::size_t n = launch.count;
        GroupResult<Psf> result;
        fit.run(result);
        if (launch.options.multiplied)
            fit.template add_goodness<PixelNoise::multiplied>(result.goodness);
        else if (mapped || launch.options.variance > 0)
            fit.template add_goodness<PixelNoise::poisson>(result.goodness);
        else
            fit.template add_goodness<PixelNoise::ideal>(result.goodness);

        const int status = status_of(result, float(s), bad);
        GLINT_UNROLL
        for (int k = 0; k < P; ++k) {
            const float unit = k == 2 || k == 3 ? launch.options.shot_noise : 1.0f;
            columns[k * n + row] = result.theta[k] * unit;
            columns[(P + k) * n + row] = status >= 3 ? 0.0f : sqrt(result.variance[k]) * unit;
        }
        columns[2 * P * n + row] = bad ? 0.0f : -result.goodness.half_deviance;
        columns[(2 * P + 1) * n + row] = bad ? 0.0f : p_value(result.goodness, float(pixels), float(P));
        bytes[row] = static_cast<unsigned char>(result.iterations);
        // What was begun is read here, not kept: a register less through the whole fit.
        const unsigned char begun = mapped && maps ? bytes[n + row] : 0;
        bytes[n + row] = static_cast<unsigned char>(begun | status);
    }

    static GLINT_INLINE void begin(GroupFit<Psf, fixed, mapped, weighted>& fit, const FitLaunch& launch,
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

    /// Finds pixels that cannot be used, and with them makes the whole ROI dark; notes the least known part.
    static GLINT_INLINE bool look_through(const SharedRois& rois, unsigned mine, int pixels, GroupPixels& roi) {
        float check = 0, least = 3e38f;
        GLINT_UNROLL
        for (int p = 0; p < pixels; ++p) {
            check += rois.data[mine + p] * 0.0f;
            if (mapped) least = min(least, rois.known[mine + p]);
        }
        if (mapped) roi.known_least = least;
        if (check == 0.0f) return false;
        for (int p = 0; p < pixels; ++p) {
            rois.data[mine + p] = 0;
            if (mapped) rois.known[mine + p] = rois.variance[mine + p] = 0;
            if (weighted) rois.weight[mine + p] = 1;
        }
        if (mapped) roi.known_least = 0;
        return true;
    }
};

}  // namespace glint::GLINT_ISA

// All kernels of one PSF model: fit_MODEL_SIZE and fit_MODEL_SIZE_mapped; SIZE 0 serves every size. Maps of the quantum
// efficiency are rare: fit_MODEL_0_weighted is theirs.
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
