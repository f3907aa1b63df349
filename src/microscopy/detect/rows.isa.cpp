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

Lanes load(const float* from) {
    Lanes out;
    __builtin_memcpy(&out, from, sizeof out);
    return out;
}

void store(Lanes values, float* to) { __builtin_memcpy(to, &values, sizeof values); }

/// Writes the elements of both alternately.
void store_pairs(Lanes first, Lanes second, float* to) {
#if defined(__AVX512F__)
    const __m512i low = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    const __m512i high = _mm512_add_epi32(low, _mm512_set1_epi32(8));
    store(Lanes(_mm512_permutex2var_ps(__m512(first), low, __m512(second))), to);
    store(Lanes(_mm512_permutex2var_ps(__m512(first), high, __m512(second))), to + lanes);
#else
    for (int k = 0; k < lanes; ++k) to[2 * k] = first[k], to[2 * k + 1] = second[k];
#endif
}

/// Reads a row register by register, with the columns beside each. Those come from the previous and the next register,
/// because a load across cache lines takes as long as two. Reads 2 registers beyond the last one.
class RowWalk {
  public:
    explicit RowWalk(const float* row) : at_(row) {
#if defined(__AVX512F__)
        before_ = load(row - lanes), here_ = load(row), after_ = load(row + lanes);
#endif
    }
    /// Returns the columns `by` to the right.
    template <int by>
    Lanes columns() const {
#if defined(__AVX512F__)
        if constexpr (by < 0)
            return Lanes(_mm512_alignr_epi32(__m512i(here_), __m512i(before_), lanes + by));
        else if constexpr (by > 0)
            return Lanes(_mm512_alignr_epi32(__m512i(after_), __m512i(here_), by));
        else
            return here_;
#else
        return load(at_ + by);
#endif
    }
    void next() {
        at_ += lanes;
#if defined(__AVX512F__)
        before_ = here_, here_ = after_, after_ = load(at_ + lanes);
#endif
    }

  private:
    const float* at_;
#if defined(__AVX512F__)
    Lanes before_, here_, after_;
#endif
};

/// The narrow filter's taps, for the sums of as many columns as a register has elements. Same arithmetic as across().
struct NarrowTaps {
    static_assert(narrow_radius == 3);
    explicit NarrowTaps(const float* taps)
        : centre(Lanes{} + taps[0]), first(Lanes{} + taps[1]), second(Lanes{} + taps[2]), third(Lanes{} + taps[3]) {}
    Lanes across(const RowWalk& row) const {
        Lanes sum = centre * row.columns<0>();
        sum += first * (row.columns<-1>() + row.columns<1>());
        sum += second * (row.columns<-2>() + row.columns<2>());
        sum += third * (row.columns<-3>() + row.columns<3>());
        return sum;
    }
    Lanes centre, first, second, third;
};

Lanes larger(Lanes a, Lanes b) { return a > b ? a : b; }
Lanes largest_of_three(const RowWalk& row) {
    return larger(larger(row.columns<-1>(), row.columns<0>()), row.columns<1>());
}

/// Calls body.run<R>() with the radius as a compile-time constant, so that its loops over taps unroll. R = 0 for large
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
    const ColumnSums* out;

    template <int R>
    void run() const {
        const int radius = R ? R : kernels.radius, third_radius = squared ? radius : narrow_radius;
        const float *taps = kernels.wide, *third_taps = squared ? kernels.squared : kernels.narrow;
        const auto put = [&](int row, int x, const auto& sums) {
            store_pairs(sums.wide, sums.box, out[row].pairs + 2 * x);
            store(sums.third, out[row].third + x);
        };
        int first = 0;
        if constexpr (R > 0) {
            // Window and taps stay in registers; each pixel is read once for all rows.
            constexpr int third_count = (squared ? R : narrow_radius) + 1;
            Lanes every_tap[R + 1], every_third_tap[third_count];
            for (int i = 0; i <= R; ++i) every_tap[i] = Lanes{} + taps[i];
            for (int i = 0; i < third_count; ++i) every_third_tap[i] = Lanes{} + third_taps[i];
            for (; first + lanes <= width; first += lanes) {
                Lanes window[rows_together + 2 * R];
                GLINT_UNROLL
                for (int k = 0; k < rows_together + 2 * R; ++k) window[k] = load(rows[k] + first);
                GLINT_UNROLL
                for (int row = 0; row < rows_together; ++row)
                    put(row, first,
                        down<R>([&](int i) { return window[row + R + i]; }, every_tap, every_third_tap, R,
                                third_radius));
            }
        } else {
            for (; first + lanes <= width; first += lanes)
                for (int row = 0; row < rows_together; ++row) {
                    const auto at = [&](int i) { return load(rows[row + radius + i] + first); };
                    put(row, first, down<R>(at, taps, third_taps, radius, third_radius));
                }
        }
        for (int row = 0; row < rows_together; ++row) {
            const float* const* centre = rows + row + radius;
            float* __restrict pairs = out[row].pairs, * __restrict third = out[row].third;
#pragma GCC ivdep
            for (int x = first; x < width; ++x) {
                const auto sums = down<R>([&](int i) { return centre[i][x]; }, taps, third_taps, radius, third_radius);
                pairs[2 * x] = sums.wide, pairs[2 * x + 1] = sums.box, third[x] = sums.third;
            }
        }
    }
};

constexpr int columns_together = 4;

/// Computes the wide and the unweighted sum of a row alternately, at `count` columns (at most columns_together). Same
/// arithmetic as across() and box_across(). Processes all four columns in parallel if the instruction set allows it.
template <int R>
void across_pairs(const float* pairs, const Kernels& kernels, const int* columns, int count, float* sums) {
    const int radius = R ? R : kernels.radius;
    const float* at[columns_together];
    for (int k = 0; k < columns_together; ++k) at[k] = pairs + 2 * columns[k < count ? k : count - 1];
#if defined(__AVX2__)
    const auto pair = [](const float* from) {
        double both;
        __builtin_memcpy(&both, from, sizeof both);
        return both;
    };
    const auto tap = [&](int i) { return _mm256_castpd_ps(_mm256_set1_pd(pair(kernels.pairs + 2 * i))); };
    __m256 sum = tap(0) * _mm256_castpd_ps(_mm256_setr_pd(pair(at[0]), pair(at[1]), pair(at[2]), pair(at[3])));
    GLINT_UNROLL
    for (int i = 1; i <= radius; i += taps_together) {
        __m256d both_sides[columns_together];  // of each column, at the distances i to i + 3
        for (int k = 0; k < columns_together; ++k) {
            const __m256 left = _mm256_loadu_ps(at[k] - 2 * (i + 3));
            both_sides[k] = _mm256_castps_pd(
                _mm256_loadu_ps(at[k] + 2 * i) +
                _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(left), _MM_SHUFFLE(0, 1, 2, 3))));
        }
        const __m256d first = _mm256_unpacklo_pd(both_sides[0], both_sides[1]);
        const __m256d second = _mm256_unpackhi_pd(both_sides[0], both_sides[1]);
        const __m256d third = _mm256_unpacklo_pd(both_sides[2], both_sides[3]);
        const __m256d fourth = _mm256_unpackhi_pd(both_sides[2], both_sides[3]);
        sum += tap(i) * _mm256_castpd_ps(_mm256_permute2f128_pd(first, third, 0x20));
        sum += tap(i + 1) * _mm256_castpd_ps(_mm256_permute2f128_pd(second, fourth, 0x20));
        sum += tap(i + 2) * _mm256_castpd_ps(_mm256_permute2f128_pd(first, third, 0x31));
        sum += tap(i + 3) * _mm256_castpd_ps(_mm256_permute2f128_pd(second, fourth, 0x31));
    }
    _mm256_storeu_ps(sums, sum);
#else
    for (int k = 0; k < columns_together; ++k) {
        float wide = kernels.wide[0] * at[k][0], box = at[k][1];
        GLINT_UNROLL
        for (int i = 1; i <= radius; ++i) {
            wide += kernels.wide[i] * (at[k][-2 * i] + at[k][2 * i]);
            box += at[k][1 - 2 * i] + at[k][1 + 2 * i];
        }
        sums[2 * k] = wide, sums[2 * k + 1] = box;
    }
#endif
}

struct UniformScores {
    const ColumnSums& sums;
    const Kernels& kernels;
    const UniformNorms& norms;
    const int* columns;
    int count;
    float* scores;

    template <int R>
    void run() const {
        float both[2 * columns_together];
        for (int first = 0; first < count; first += columns_together) {
            const int some = count - first < columns_together ? count - first : columns_together;
            across_pairs<R>(sums.pairs, kernels, columns + first, some, both);
            for (int k = 0; k < some; ++k) {
                const int x = columns[first + k];
                scores[first + k] = uniform_score(both[2 * k], both[2 * k + 1], norms.box_ratio[x], norms.norm[x],
                                                  norms.inverse_noise[x]);
            }
        }
    }
};

struct WeightedScores {
    const ColumnSums &weights, &signal;
    const Kernels& kernels;
    const int* columns;
    int count;
    float* scores;

    template <int R>
    void run() const {
        float w[2 * columns_together], s[2 * columns_together];
        for (int first = 0; first < count; first += columns_together) {
            const int some = count - first < columns_together ? count - first : columns_together;
            across_pairs<R>(weights.pairs, kernels, columns + first, some, w);
            across_pairs<R>(signal.pairs, kernels, columns + first, some, s);
            for (int k = 0; k < some; ++k) {
                const float c = across<R>(weights.third + columns[first + k], kernels.squared, kernels.radius);
                scores[first + k] = weighted_score(w[2 * k], w[2 * k + 1], c, s[2 * k], s[2 * k + 1]);
            }
        }
    }
};

/// Writes x + k for each lane k in which a comparison is true; returns their number. Also overwrites later elements.
template <class Comparison>
int write_columns(Comparison holds, int x, int* columns) {
#if defined(__AVX512F__)
    const __m512i each = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __mmask16 bits = _mm512_movepi32_mask(__m512i(holds));
    const __m512i packed = _mm512_maskz_compress_epi32(bits, _mm512_add_epi32(each, _mm512_set1_epi32(x)));
    // At most one of two adjacent columns is true, so eight elements suffice.
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(columns), _mm512_castsi512_si256(packed));
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

/// Adds the upper half to the lower half until one number is left.
double sum_of(Lanes values) {
#if defined(__SSE2__)
#if defined(__AVX512F__)
    const __m256 eight =
        _mm256_add_ps(_mm512_castps512_ps256(__m512(values)), _mm512_extractf32x8_ps(__m512(values), 1));
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
#elif defined(__AVX__)
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(__m256(values)), _mm256_extractf128_ps(__m256(values), 1));
#else
    const __m128 four = __m128(values);
#endif
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps(two, two, 1)));
#else
    float v[lanes];
    __builtin_memcpy(v, &values, sizeof v);
    for (int half = lanes / 2; half > 0; half /= 2)
        for (int k = 0; k < half; ++k) v[k] += v[k + half];
    return v[0];
#endif
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

void narrow_column_sums(const float* const* rows, const Kernels& kernels, int width, const ColumnSums* out) {
    with_radius(kernels.radius, ColumnSum<false>{rows, kernels, width, out});
}

void squared_column_sums(const float* const* rows, const Kernels& kernels, int width, const ColumnSums* out) {
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
    const NarrowTaps every(taps);
    RowWalk row(sums);
    int x = 0;
    for (; x + lanes <= width; x += lanes, row.next()) store(every.across(row) * load(norm + x), narrow + x);
    for (; x < width; ++x) narrow[x] = across<narrow_radius>(sums + x, taps, 0) * norm[x];
}

void weighted_narrow(const float* sums, const float* weights, const float* taps, int width, float* narrow) {
    const NarrowTaps every(taps);
    RowWalk row(sums), weight_row(weights);
    int x = 0;
    for (; x + lanes <= width; x += lanes, row.next(), weight_row.next())
        store(every.across(row) / every.across(weight_row), narrow + x);
    for (; x < width; ++x)
        narrow[x] = across<narrow_radius>(sums + x, taps, 0) / across<narrow_radius>(weights + x, taps, 0);
}

void uniform_scores(const ColumnSums& sums, const Kernels& kernels, const UniformNorms& norms, const int* columns,
                    int count, float* scores) {
    with_radius(kernels.radius, UniformScores{sums, kernels, norms, columns, count, scores});
}

void weighted_scores(const ColumnSums& weights, const ColumnSums& signal, const Kernels& kernels, const int* columns,
                     int count, float* scores) {
    with_radius(kernels.radius, WeightedScores{weights, signal, kernels, columns, count, scores});
}

void weigh(const float* pixels, const float* shot_noise, const float* variance, const float* qe, float min_variance,
           int width, float* weights, float* weighted) {
    float* __restrict w = weights, * __restrict we = weighted;
    if (qe) {
#pragma GCC ivdep
        for (int x = 0; x < width; ++x) {
            w[x] = weight(shot_noise[x] / qe[x], variance[x], min_variance);
            we[x] = w[x] * pixels[x];
        }
        return;
    }
#pragma GCC ivdep
    for (int x = 0; x < width; ++x) {
        w[x] = weight(shot_noise[x], variance[x], min_variance);
        we[x] = w[x] * pixels[x];
    }
}

int find_maxima(const SearchedRows& rows, int width, int* columns) {
    int count = 0, x = 0;
    RowWalk above(rows.above), here(rows.here), below(rows.below);
    for (; x + lanes <= width; x += lanes) {
        // is_maximum(), with the largest values that it compares with.
        const Lanes value = here.columns<0>();
        const Lanes earlier = larger(largest_of_three(above), here.columns<-1>());
        const Lanes later = larger(largest_of_three(below), here.columns<1>());
        count += write_columns((value > earlier) & (value >= later), x, columns + count);
        above.next(), here.next(), below.next();
    }
    for (; x < width; ++x)
        if (is_maximum(rows.above, rows.here, rows.below, x)) columns[count++] = x;
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
