// Loops over pixel rows that the compiler vectorises; one source for every instruction set.
// SPDX-License-Identifier: MIT
#include "detect/rows.hpp"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include "detect/row_math.hpp"

namespace glint::GLINT_ISA {
namespace {

/// The number of floats in a SIMD register.
#if defined(__AVX512F__)
constexpr int lanes = 16;
#elif defined(__AVX__)
constexpr int lanes = 8;
#else
constexpr int lanes = 4;
#endif
typedef float Lanes __attribute__((vector_size(4 * lanes)));

/// Calls body.run<R>() with the radius as a compile-time constant, so that its loops over taps unroll; R = 0 for large
/// radii.
template <class Body>
void with_radius(int radius, const Body& body) {
    switch (radius) {
        case 3: return body.template run<3>();
        case 4: return body.template run<4>();
        case 5: return body.template run<5>();
        case 6: return body.template run<6>();
        case 7: return body.template run<7>();
        case 8: return body.template run<8>();
        case 9: return body.template run<9>();
        case 10: return body.template run<10>();
        default: return body.template run<0>();
    }
}

template <bool squared>
struct ColumnSum {
    const float* const* rows;
    const Kernels& kernels;
    int width;
    const ColumnSums& out;

    template <int R>
    void run() const {
        const int radius = R ? R : kernels.radius, third_radius = squared ? radius : narrow_radius;
        const float* const* centre = rows + radius;
        const float *taps = kernels.wide, *third_taps = squared ? kernels.squared : kernels.narrow;
        float* __restrict wide = out.wide, * __restrict box = out.box, * __restrict third = out.third;
#pragma GCC ivdep
        for (int x = 0; x < width; ++x) {
            const DownSums sums = down<R>([&](int i) { return centre[i][x]; }, taps, third_taps, radius, third_radius);
            wide[x] = sums.wide, box[x] = sums.box, third[x] = sums.third;
        }
    }
};

struct UniformScores {
    const ColumnSums& sums;
    const Kernels& kernels;
    const UniformNorms& norms;
    const int* columns;
    int count;
    float* scores;

    /// A call for each: gathers of columns far apart take longer than sums one by one.
    template <int R>
    __attribute__((noinline)) float at(int x) const {
        const float signal = across<R>(sums.wide + x, kernels.wide, kernels.radius);
        const float flat = box_across<R>(sums.box + x, kernels.radius);
        return uniform_score(signal, flat, norms.box_ratio[x], norms.norm[x], norms.inverse_sigma[x]);
    }

    template <int R>
    void run() const {
        for (int k = 0; k < count; ++k) scores[k] = at<R>(columns[k]);
    }
};

struct WeightedScores {
    const ColumnSums &weights, &signal;
    const Kernels& kernels;
    const int* columns;
    int count;
    float* scores;

    template <int R>
    __attribute__((noinline)) float at(int x) const {
        const int radius = kernels.radius;
        const float a = across<R>(weights.wide + x, kernels.wide, radius);
        const float b = box_across<R>(weights.box + x, radius);
        const float c = across<R>(weights.third + x, kernels.squared, radius);
        const float p = across<R>(signal.wide + x, kernels.wide, radius), q = box_across<R>(signal.box + x, radius);
        return weighted_score(a, b, c, p, q);
    }

    template <int R>
    void run() const {
        for (int k = 0; k < count; ++k) scores[k] = at<R>(columns[k]);
    }
};

Lanes load(const float* from) {
    Lanes out;
    __builtin_memcpy(&out, from, sizeof out);
    return out;
}

/// Writes x + k for each lane k in which a comparison holds; returns their number. Others are overwritten, too.
template <class Comparison>
int write_columns(Comparison holds, int x, int* columns) {
#if defined(__AVX512F__)
    const __m512i each = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __mmask16 bits = _mm512_movepi32_mask(__m512i(holds));
    _mm512_storeu_si512(columns, _mm512_maskz_compress_epi32(bits, each + _mm512_set1_epi32(x)));
    return __builtin_popcount(bits);
#else
    unsigned bits = 0;
#if defined(__AVX__)
    bits = unsigned(_mm256_movemask_ps(__m256(holds)));
#elif defined(__SSE2__)
    bits = unsigned(_mm_movemask_ps(__m128(holds)));
#else
    for (int k = 0; k < lanes; ++k) bits |= unsigned(holds[k] != 0) << k;
#endif
    int count = 0;
    for (; bits; bits &= bits - 1) columns[count++] = x + __builtin_ctz(bits);
    return count;
#endif
}

double sum_of(Lanes values) {
    float v[lanes];
    __builtin_memcpy(v, &values, sizeof v);
    for (int half = lanes / 2; half > 0; half /= 2)
        for (int k = 0; k < half; ++k) v[k] += v[k + half];
    return v[0];
}

template <class Test>
void sum_kept(const Tile& tile, const Test test, double* sum, double* count) {
    Lanes sums = {}, counts = {};
    const Lanes one = Lanes{} + 1.0f, zero = {};
    float rest = 0, rest_count = 0;
    for (int y = 0; y < tile.height; ++y) {
        const float* row = tile.pixels + y * tile.stride;
        const float* variance = (tile.variance ? tile.variance : tile.pixels) + y * tile.stride;
        const float* qe = (tile.qe ? tile.qe : tile.pixels) + y * tile.stride;
        int x = 0;
        for (; x + lanes <= tile.width; x += lanes) {
            const Lanes pixel = load(row + x);
            const auto keep = test.keep(pixel, load(variance + x), load(qe + x));
            sums += keep ? pixel : zero;
            counts += keep ? one : zero;
        }
        for (; x < tile.width; ++x) {
            if (!test.keep(row[x], variance[x], qe[x])) continue;
            rest += row[x], rest_count += 1;
        }
    }
    *sum = sum_of(sums) + rest;
    *count = sum_of(counts) + rest_count;
}

}  // namespace

void narrow_column_sums(const float* const* rows, const Kernels& kernels, int width, const ColumnSums& out) {
    with_radius(kernels.radius, ColumnSum<false>{rows, kernels, width, out});
}

void squared_column_sums(const float* const* rows, const Kernels& kernels, int width, const ColumnSums& out) {
    with_radius(kernels.radius, ColumnSum<true>{rows, kernels, width, out});
}

void narrow_column_sum(const float* const* rows, int radius, const float* narrow, int width, float* out) {
    const float* const* centre = rows + radius;
    float* __restrict to = out;
#pragma GCC ivdep
    for (int x = 0; x < width; ++x) {
        float sum = narrow[0] * centre[0][x];
        GLINT_UNROLL
        for (int i = 1; i <= narrow_radius; ++i) sum += narrow[i] * (centre[-i][x] + centre[i][x]);
        to[x] = sum;
    }
}

void uniform_narrow(const float* sums, const float* taps, const float* norm, int width, float* narrow) {
    float* __restrict to = narrow;
#pragma GCC ivdep
    for (int x = 0; x < width; ++x) to[x] = across<narrow_radius>(sums + x, taps, 0) * norm[x];
}

void weighted_narrow(const float* sums, const float* weights, const float* taps, int width, float* narrow) {
    float* __restrict to = narrow;
#pragma GCC ivdep
    for (int x = 0; x < width; ++x)
        to[x] = across<narrow_radius>(sums + x, taps, 0) / across<narrow_radius>(weights + x, taps, 0);
}

void uniform_scores(const ColumnSums& sums, const Kernels& kernels, const UniformNorms& norms, const int* columns,
                    int count, float* scores) {
    with_radius(kernels.radius, UniformScores{sums, kernels, norms, columns, count, scores});
}

void weighted_scores(const ColumnSums& weights, const ColumnSums& signal, const Kernels& kernels, const int* columns,
                     int count, float* scores) {
    with_radius(kernels.radius, WeightedScores{weights, signal, kernels, columns, count, scores});
}

void weigh(const float* pixels, const float* shot_noise, const float* variance, const float* qe, float least_variance,
           int width, float* weights, float* weighted) {
    float* __restrict w = weights, * __restrict we = weighted;
    if (qe) {
#pragma GCC ivdep
        for (int x = 0; x < width; ++x) {
            w[x] = weight(shot_noise[x] / qe[x], variance[x], least_variance);
            we[x] = w[x] * pixels[x];
        }
        return;
    }
#pragma GCC ivdep
    for (int x = 0; x < width; ++x) {
        w[x] = weight(shot_noise[x], variance[x], least_variance);
        we[x] = w[x] * pixels[x];
    }
}

int find_maxima(const SearchedRows& rows, int width, int* columns) {
    int count = 0, x = 0;
    for (; x + lanes <= width; x += lanes)
        count += write_columns(is_maximum(load, rows.above, rows.here, rows.below, x), x, columns + count);
    for (; x < width; ++x)
        if (is_maximum(LoadOne{}, rows.above, rows.here, rows.below, x)) columns[count++] = x;
    return count;
}

double plain_sum(const Tile& tile) {
    Lanes sum = {};
    double rest = 0;
    for (int y = 0; y < tile.height; ++y) {
        const float* row = tile.pixels + y * tile.stride;
        int x = 0;
        for (; x + lanes <= tile.width; x += lanes) sum += load(row + x);
        for (; x < tile.width; ++x) rest += row[x];
    }
    return sum_of(sum) + rest;
}

void clipped_sum(const Tile& tile, float mean, double* sum, double* count) {
    if (tile.qe)
        sum_kept(tile, own_limit_by_qe(mean, tile.shot_noise), sum, count);
    else if (tile.variance)
        sum_kept(tile, own_limit(mean, tile.shot_noise), sum, count);
    else
        sum_kept(tile, one_limit(mean, tile.shot_noise, tile.variance_scalar), sum, count);
}

}  // namespace glint::GLINT_ISA
