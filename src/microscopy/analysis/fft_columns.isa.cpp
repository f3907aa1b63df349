// Stockham's transform: each stage sorts while it copies from one buffer to the other. Each column has its lane.
// SPDX-License-Identifier: MIT
#include "analysis/fft_columns.hpp"

#include "psf/lane.hpp"

namespace glint::GLINT_ISA {
namespace {

static_assert(fft_columns_at_once % lane_width == 0);

struct Number {
    Lane re, im;
};
GLINT_INLINE Number operator+(const Number& a, const Number& b) { return {a.re + b.re, a.im + b.im}; }
GLINT_INLINE Number operator-(const Number& a, const Number& b) { return {a.re - b.re, a.im - b.im}; }
GLINT_INLINE Number loaded(const float* from, std::ptrdiff_t at) {
    from += at * 2 * lane_width;
    return {load(from), load(from + lane_width)};
}
GLINT_INLINE void put(float* to, std::ptrdiff_t at, const Number& value) {
    to += at * 2 * lane_width;
    store(to, value.re), store(to + lane_width, value.im);
}

/// Computes the discrete transform of 2 to 5 numbers in place.
template <int radix>
GLINT_INLINE void butterfly(Number (&a)[radix]) {
    if constexpr (radix == 2) {
        const Number sum = a[0] + a[1];
        a[1] = a[0] - a[1], a[0] = sum;
    } else if constexpr (radix == 4) {
        const Number even = a[0] + a[2], odd = a[1] + a[3], d = a[0] - a[2], e = a[1] - a[3];
        a[0] = even + odd, a[2] = even - odd;
        a[1] = {d.re + e.im, d.im - e.re}, a[3] = {d.re - e.im, d.im + e.re};
    } else {
        constexpr float c[3][2] = {
            {1, 1}, {radix == 3 ? -0.5f : 0.30901699f, -0.80901699f}, {-0.80901699f, 0.30901699f}};
        constexpr float s[3][2] = {
            {0, 0}, {radix == 3 ? 0.86602540f : 0.95105652f, 0.58778525f}, {0.58778525f, -0.95105652f}};
        constexpr int half = radix / 2;
        Number sum[half], difference[half], all = a[0];
        for (int j = 0; j < half; ++j) {
            sum[j] = a[j + 1] + a[radix - 1 - j], difference[j] = a[j + 1] - a[radix - 1 - j];
            all = all + sum[j];
        }
        for (int r = 1; r <= half; ++r) {
            Number even = a[0], odd{};
            for (int j = 0; j < half; ++j) {
                even.re += c[r][j] * sum[j].re, even.im += c[r][j] * sum[j].im;
                odd.re += s[r][j] * difference[j].re, odd.im += s[r][j] * difference[j].im;
            }
            a[r] = {even.re + odd.im, even.im - odd.re};
            a[radix - r] = {even.re - odd.im, even.im + odd.re};
        }
        a[0] = all;
    }
}

template <int radix>
void stage(const FftPlan& plan, const float* from, float* to, int m, int s) {
    for (int k = 0; k < m; ++k) {
        Number turn[radix];
        for (int r = 1; r < radix; ++r) turn[r] = {splat(plan.cosine[k * r * s]), splat(plan.sine[k * r * s])};
        for (int q = 0; q < s; ++q) {
            Number a[radix];
            for (int j = 0; j < radix; ++j) a[j] = loaded(from, q + s * (k + m * j));
            butterfly<radix>(a);
            put(to, q + s * radix * k, a[0]);
            for (int r = 1; r < radix; ++r)
                put(to, q + s * (radix * k + r),
                    {a[r].re * turn[r].re + a[r].im * turn[r].im, a[r].im * turn[r].re - a[r].re * turn[r].im});
        }
    }
}

/// Transposes lanes and rows. Each step interleaves the first half of the rows with the second half.
GLINT_INLINE void transpose_lanes(Lane (&rows)[lane_width]) {
    constexpr int half = lane_width / 2;
    IntLane low, high;  // the sources of the interleaved lanes
    for (int l = 0; l < lane_width; ++l)
        low[l] = l / 2 + l % 2 * lane_width, high[l] = half + l / 2 + l % 2 * lane_width;
    GLINT_UNROLL
    for (int turn = 1; turn < lane_width; turn *= 2) {
        Lane mixed[lane_width];
        GLINT_UNROLL
        for (int k = 0; k < half; ++k) {
            mixed[2 * k] = __builtin_shuffle(rows[k], rows[k + half], low);
            mixed[2 * k + 1] = __builtin_shuffle(rows[k], rows[k + half], high);
        }
        GLINT_UNROLL
        for (int k = 0; k < lane_width; ++k) rows[k] = mixed[k];
    }
}

/// Returns the row of kept frequency i in the full transform.
GLINT_INLINE int frequency(const FftPlan& plan, int rings, int i) {
    const int kept = 2 * rings - 1;
    return i < rings ? i : i + plan.n - kept;
}

void write_frequencies(const float* values, const FftPlan& plan, const FftOutput& to, int first) {
    for (int i = 0; i < 2 * to.rings - 1; ++i) {
        const Number value = loaded(values, frequency(plan, to.rings, i));
        float* row = to.values + std::ptrdiff_t(i) * fft_block_row + first;
        store(row, value.re), store(row + fft_columns_at_once, value.im);
    }
}

void write_transposed(const float* values, const FftPlan& plan, const FftOutput& to, int first) {
    const int kept = 2 * to.rings - 1;
    for (int i0 = 0; i0 < kept; i0 += lane_width) {
        Lane re[lane_width], im[lane_width];
        GLINT_UNROLL
        for (int k = 0; k < lane_width; ++k) {
            const Number value = i0 + k < kept ? loaded(values, frequency(plan, to.rings, i0 + k)) : Number{};
            re[k] = value.re, im[k] = value.im;
        }
        transpose_lanes(re), transpose_lanes(im);
        float* rows = to.values + std::size_t(i0 / fft_columns_at_once) * to.block + i0 % fft_columns_at_once +
                      std::ptrdiff_t(first) * fft_block_row;
        GLINT_UNROLL
        for (int l = 0; l < lane_width; ++l) {
            store(rows + std::ptrdiff_t(l) * fft_block_row, re[l]);
            store(rows + std::ptrdiff_t(l) * fft_block_row + fft_columns_at_once, im[l]);
        }
    }
}

}  // namespace

void fft_columns(const FftPlan& plan, const float* from, const FftOutput& to, float* work) {
    for (int first = 0; first < fft_columns_at_once; first += lane_width) {
        float *values = work, *other = work + std::ptrdiff_t(plan.n) * 2 * lane_width;
        for (int y = 0; y < plan.n; ++y) {
            const float* row = from + std::ptrdiff_t(y) * fft_block_row + first;
            put(values, y, {load(row), load(row + fft_columns_at_once)});
        }
        int m = plan.n, s = 1;
        for (int k = 0; k < plan.stages; ++k) {
            const int radix = plan.radix[k];
            m /= radix;
            if (radix == 4)
                stage<4>(plan, values, other, m, s);
            else if (radix == 2)
                stage<2>(plan, values, other, m, s);
            else if (radix == 3)
                stage<3>(plan, values, other, m, s);
            else
                stage<5>(plan, values, other, m, s);
            s *= radix;
            float* swapped = values;
            values = other, other = swapped;
        }
        if (to.transposed)
            write_transposed(values, plan, to, first);
        else
            write_frequencies(values, plan, to, first);
    }
}

}  // namespace glint::GLINT_ISA
