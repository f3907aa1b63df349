// Fits a batch of ROIs with the kernel compiled for this instruction set, one ROI per SIMD lane. Included only by the
// files fit_MODEL.isa.cpp, which the build generates from the list of models.
// SPDX-License-Identifier: MIT
#pragma once

#include "fit/fit_batch.hpp"
#include "fit/kernel.hpp"

namespace glint::GLINT_ISA {
namespace {

/// The pixels of one group of ROIs, transposed to [pixel][lane], so that one load reads the same pixel of all ROIs.
struct Group {
    alignas(64) float data[max_size * max_size * lane_width];
    alignas(64) float known[max_size * max_size * lane_width];
    alignas(64) float variance[max_size * max_size * lane_width];
    alignas(64) float weight[max_size * max_size * lane_width];
    GroupPixels pixels;
    Mask bad;  // NaN, infinite or beyond 1e9 e-
};

/// Transposes ROIs first, first + 1, ... of a stack to [pixel][lane]; lanes beyond the end repeat the last ROI.
void transpose(const float* stack, int pixels, int64_t first, int64_t count, float* out) {
    for (int lane = 0; lane < lane_width; ++lane) {
        const int64_t k = first + lane < count ? first + lane : count - 1;
        const float* roi = stack + k * pixels;
        for (int p = 0; p < pixels; ++p) out[p * lane_width + lane] = roi[p];
    }
}

GLINT_INLINE Mask unusable(Lane values) { return ~(abs(values) < 1e9f); }

/// Converts photoelectrons and noise to the variables of theory.md, eq. 2.2 and 2.3. ROIs with unusable pixels are
/// cleared, so that they cannot delay the other lanes.
void prepare(const KernelInput& in, const KernelOptions& options, int64_t first, bool mapped, Group& group) {
    const int pixels = options.size * options.size;
    const float scale = 1.0f / options.shot_noise, scale2 = scale * scale;
    transpose(in.pixels, pixels, first, in.count, group.data);
    if (in.variance) transpose(in.variance, pixels, first, in.count, group.variance);
    if (in.additive) transpose(in.additive, pixels, first, in.count, group.known);
    if (in.qe) transpose(in.qe, pixels, first, in.count, group.weight);
    group.bad = all_false();
    Lane least = splat(mapped ? 3e38f : scale2 * options.variance);
    for (int p = 0; p < pixels; ++p) {
        const int at = p * lane_width;
        Lane d = load(group.data + at);
        group.bad |= unusable(d);
        Lane v = splat(options.variance);
        if (in.variance) {
            v = load(group.variance + at);
            group.bad |= unusable(v) | (v < 0.0f);
            if (in.qe) {
                const Lane q = load(group.weight + at);
                group.bad |= unusable(q) | ~(q > 0.0f);
                v *= q;
            }
            store(group.variance + at, v * scale2);
        }
        Lane known = v * scale2;
        store(group.data + at, max(d * scale + known, Lane{}));
        if (!mapped) continue;
        if (in.additive) {
            const Lane m = load(group.known + at);
            group.bad |= unusable(m) | (m < 0.0f);
            known += m * scale;
        }
        store(group.known + at, known);
        least = min(least, known);
    }
    group.pixels = {group.data,
                    mapped ? group.known : nullptr,
                    in.variance ? group.variance : nullptr,
                    splat(scale2 * options.variance),
                    least,
                    scale2 * options.variance,
                    options.size,
                    in.qe ? group.weight : nullptr};
    if (!any(group.bad)) return;
    for (int p = 0; p < pixels; ++p) {
        const int at = p * lane_width;
        store(group.data + at, select(group.bad, Lane{}, load(group.data + at)));
        if (mapped) store(group.known + at, select(group.bad, Lane{}, load(group.known + at)));
        if (in.variance) store(group.variance + at, select(group.bad, Lane{}, load(group.variance + at)));
        if (in.qe) store(group.weight + at, select(group.bad, splat(1.0f), load(group.weight + at)));
    }
    group.pixels.known_least = select(group.bad, Lane{}, least);
}

void store_column(float* column, int64_t first, int64_t count, Lane values) {
    if (first + lane_width <= count) return store(column + first, values);
    for (int lane = 0; first + lane < count; ++lane) column[first + lane] = values[lane];
}

void store_column(uint8_t* column, int64_t first, int64_t count, IntLane values) {
    for (int lane = 0; lane < lane_width && first + lane < count; ++lane) column[first + lane] = uint8_t(values[lane]);
}

Lane load_column(const float* column, int64_t first, int64_t count) {
    Lane values;
    for (int lane = 0; lane < lane_width; ++lane)
        values[lane] = column[first + lane < count ? first + lane : count - 1];
    return values;
}

/// Writes a group's results as columns. N and bg are multiplied by f, because eq. 2.2 has divided them by it.
template <class Psf>
void store_result(const GroupResult<Psf>& fit, const KernelOptions& options, Mask bad, int64_t first,
                  const KernelInput& in, const KernelOutput& out) {
    const IntLane status = status_of(fit, float(options.size), bad);
    const Mask no_crlb = status >= 3;
    for (int k = 0; k < GroupResult<Psf>::P; ++k) {
        const float scale = k == 2 || k == 3 ? options.shot_noise : 1.0f;
        store_column(out.theta[k], first, in.count, fit.theta[k] * scale);
        store_column(out.crlb[k], first, in.count, select(no_crlb, Lane{}, sqrt(fit.variance[k]) * scale));
    }
    const float pixels = float(options.size * options.size);
    store_column(out.log_likelihood_ratio, first, in.count, select(bad, Lane{}, -fit.goodness.half_deviance));
    store_column(out.p_value, first, in.count,
                 select(bad, Lane{}, p_value(fit.goodness, pixels, float(GroupResult<Psf>::P))));
    store_column(out.iterations, first, in.count, to_int(fit.iterations));
    store_column(out.status, first, in.count, status);
}

/// Chooses the cell of each lane's ROI, if the PSF changes over the field. Lanes beyond the end repeat the last ROI.
template <class Psf>
void choose_cells(const KernelInput& in, const KernelOptions& options, int64_t first, Psf& psf) {
    if constexpr (requires { psf.choose_cell(Lane{}, Lane{}); }) {
        if (!in.x_corner) return;
        const float to_middle = 0.5f * float(options.size - 1);
        Lane x, y;
        for (int lane = 0; lane < lane_width; ++lane) {
            const int64_t k = first + lane < in.count ? first + lane : in.count - 1;
            x[lane] = float(in.x_corner[k]) + to_middle, y[lane] = float(in.y_corner[k]) + to_middle;
        }
        psf.choose_cell(x, y);
    }
}

/// `known_starts`: how many leading parameters have start values in `start`: 0, 2 (x and y) or all.
template <class Psf, int fixed, bool mapped, bool weighted>
__attribute__((noinline)) void fit_group(const Group& group, const Psf& psf, const KernelOptions& options,
                                         const Lane* start, int known_starts, GroupResult<Psf>& result) {
    GroupFit<Psf, fixed, mapped, weighted> fit(group.pixels, psf, options);
    if (known_starts == GroupResult<Psf>::P)
        fit.start_from(start);
    else if (known_starts == 2)
        fit.estimate_start(start[0], start[1]);
    else
        fit.estimate_start();
    fit.run(result);
    if (options.multiplied)
        fit.template add_goodness<PixelNoise::multiplied>(result.goodness);
    else if (mapped || options.variance > 0)
        fit.template add_goodness<PixelNoise::poisson>(result.goodness);
    else
        fit.template add_goodness<PixelNoise::ideal>(result.goodness);
}

template <class Psf>
void fit_model(const KernelPsf& numbers, const KernelOptions& options, const KernelInput& in, const KernelOutput& out) {
    constexpr int P = GroupResult<Psf>::P;
    Psf psf{numbers};
    const bool mapped = in.variance || in.additive;
    const auto fit = in.qe               ? fit_group<Psf, 0, true, true>
                     : options.size == 7 ? (mapped ? fit_group<Psf, 7, true, false> : fit_group<Psf, 7, false, false>)
                                         : (mapped ? fit_group<Psf, 0, true, false> : fit_group<Psf, 0, false, false>);
    Group group;
    for (int64_t first = 0; first < in.count; first += lane_width) {
        prepare(in, options, first, mapped, group);
        choose_cells(in, options, first, psf);
        Lane start[P];
        for (int k = 0; k < in.known_starts; ++k) {
            const float scale = k == 2 || k == 3 ? 1.0f / options.shot_noise : 1.0f;
            start[k] = load_column(in.start[k], first, in.count) * scale;
        }
        GroupResult<Psf> result;
        fit(group, psf, options, start, in.known_starts, result);
        store_result<Psf>(result, options, group.bad, first, in, out);
    }
}

}  // namespace
}  // namespace glint::GLINT_ISA

/// Defines the function that fit/fit_batch.hpp declares for one model.
#define GLINT_FIT_MODEL(name)                                                                                    \
    void glint::GLINT_ISA::fit_##name(const KernelPsf& psf, const KernelOptions& options, const KernelInput& in, \
                                      const KernelOutput& out) {                                                 \
        fit_model<glint::GLINT_ISA::name>(psf, options, in, out);                                                \
    }
