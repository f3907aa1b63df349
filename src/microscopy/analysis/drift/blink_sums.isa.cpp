// Computes all sums in one loop over vectors of blinks. The same source is compiled for each instruction set.
// SPDX-License-Identifier: MIT
#include "analysis/drift/blink_sums.hpp"

#include "psf/special.hpp"

namespace glint::GLINT_ISA {
namespace {

static_assert(blinks_at_once % lane_width == 0);
constexpr float kernel_reach_nm = 70, max_square = 20;
constexpr float log2_e = 1.44269504f;

/// Adds the lanes by halves, so that most additions run in parallel.
GLINT_INLINE float sum(Lane of) {
    float part[lane_width];
    store(part, of);
    for (int half = lane_width / 2; half > 4; half /= 2)
        for (int l = 0; l < half; ++l) part[l] += part[l + half];
    if (lane_width > 4)
        for (int l = 0; l < 4; ++l) part[l] += part[l + 4];
    return (part[0] + part[2]) + (part[1] + part[3]);
}

/// Returns 1 / sqrt(x) with a relative error of 5e-6: a guess from the bits, then two Newton steps.
GLINT_INLINE Lane inverse_root(Lane x) {
    Lane y = lane_of(0x5f375a86 - (bits_of(x) >> 1));
    y *= 1.5f - 0.5f * x * y * y;
    return y * (1.5f - 0.5f * x * y * y);
}

struct Kernel {
    Lane sum{}, pull[3] = {};
};

template <int axes>
struct Window {
    Lane w{}, ww{}, d[3] = {}, s[6] = {};
    GLINT_INLINE void add(Lane weight, Lane x, Lane y, Lane z) {
        const Lane wx = weight * x, wy = weight * y;
        w += weight, ww += weight * weight;
        d[0] += wx, d[1] += wy;
        s[0] += wx * x, s[1] += wx * y, s[2] += wy * y;
        if (axes < 3) return;
        const Lane wz = weight * z;
        d[2] += wz, s[3] += wx * z, s[4] += wy * z, s[5] += wz * z;
    }
    void put(float (&to)[11]) const {
        to[0] = sum(w), to[1] = sum(ww);
        for (int k = 0; k < 3; ++k) to[2 + k] = sum(d[k]);
        for (int k = 0; k < 6; ++k) to[5 + k] = sum(s[k]);
    }
};

template <int axes>
GLINT_INLINE void sums(const NearBlinks& near, const BlinkPlace& place, BlinkSums& to) {
    Kernel kernel[drift_kernels];
    Window<axes> window[drift_windows];
    const float widest = -0.5f * log2_e / (drift_window_nm[2] * drift_window_nm[2]);
    static_assert(drift_window_nm[2] == 2 * drift_window_nm[1] && drift_window_nm[1] == 2 * drift_window_nm[0]);
    for (int j = 0; j < near.count; j += lane_width) {
        const Lane x = load(near.nm[0] + j) - place.nm[0], y = load(near.nm[1] + j) - place.nm[1];
        const Lane z = axes == 3 ? load(near.nm[2] + j) - place.nm[2] : Lane{};
        const Lane across = x * x + y * y, r2 = across + z * z;
        const Lane later = load(near.frame + j) - place.frame;
        const Mask counts =
            (r2 <= drift_reach_nm * drift_reach_nm) & ((later >= place.apart) | (later <= -place.apart));
        if (!any(counts)) continue;
        const Lane wide = select(counts, exp2_negative(select(counts, r2, Lane{}) * widest), Lane{});
        window[2].add(wide, x, y, z);
        const Mask in_middle = counts & (r2 < 9 * drift_window_nm[1] * drift_window_nm[1]);
        if (!any(in_middle)) continue;
        const Lane second = wide * wide, middle = select(in_middle, second * second, Lane{});
        window[1].add(middle, x, y, z);
        const Mask in_small = in_middle & (r2 < 9 * drift_window_nm[0] * drift_window_nm[0]);
        if (!any(in_small)) continue;
        const Lane third = middle * middle, small = select(in_small, third * third, Lane{});
        window[0].add(small, x, y, z);
        const Mask in_kernels = counts & (across <= kernel_reach_nm * kernel_reach_nm);
        if (!any(in_kernels)) continue;
        Lane both[3] = {};
        for (int a = 0; a < axes; ++a) both[a] = load(near.variance[a] + j) + place.variance[a];
        for (int k = 0; k < drift_kernels; ++k) {
            const float extra = drift_kernel_nm[k] * drift_kernel_nm[k] + place.finest_nm * place.finest_nm;
            const Lane vx = both[0] + extra, vy = both[1] + extra, vz = axes == 3 ? both[2] + extra : splat(1);
            const Lane root = inverse_root(vx * vy * vz), inverse = root * root;
            const Lane px = x * (inverse * vy * vz), py = y * (inverse * vx * vz), pz = z * (inverse * vx * vy);
            const Lane square = x * px + y * py + z * pz;
            const Mask in_kernel = in_kernels & (square <= max_square);
            const Lane weight =
                select(in_kernel, root * exp2_negative(select(in_kernel, square, Lane{}) * (-0.5f * log2_e)), Lane{});
            kernel[k].sum += weight;
            kernel[k].pull[0] += weight * px, kernel[k].pull[1] += weight * py;
            if (axes == 3) kernel[k].pull[2] += weight * pz;
        }
    }
    for (int k = 0; k < drift_kernels; ++k) {
        to.kernel[k][0] = sum(kernel[k].sum);
        for (int a = 0; a < 3; ++a) to.kernel[k][1 + a] = sum(kernel[k].pull[a]);
    }
    for (int k = 0; k < drift_windows; ++k) window[k].put(to.window[k]);
}

}  // namespace

void blink_sums(const NearBlinks& near, const BlinkPlace& place, int axes, BlinkSums& to) {
    if (axes == 3)
        sums<3>(near, place, to);
    else
        sums<2>(near, place, to);
}

}  // namespace glint::GLINT_ISA
