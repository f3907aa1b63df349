// Loops over pixel rows that the compiler vectorises; one source for every instruction set.
// SPDX-License-Identifier: MIT
#include "detect/rows.hpp"

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
bool with_radius(int radius, Body body) {
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
    bool run() const {
        const int radius = R ? R : kernels.radius, third_radius = squared ? radius : narrow_radius;
        const float* const* centre = rows + radius;
        const float *taps = kernels.wide, *third_taps = squared ? kernels.squared : kernels.narrow;
        float* __restrict wide = out.wide, * __restrict box = out.box, * __restrict third = out.third;
#pragma GCC ivdep
        for (int x = 0; x < width; ++x) {
            const DownSums sums = down<R>([&](int i) { return centre[i][x]; }, taps, third_taps, radius, third_radius);
            wide[x] = sums.wide, box[x] = sums.box, third[x] = sums.third;
        }
        return true;
    }
};

struct UniformScores {
    const ColumnSums& sums;
    const Kernels& kernels;
    const UniformNorms& norms;
    int width;
    float threshold;
    float* __restrict score, * __restrict narrow;

    template <int R>
    bool run() const {
        const UniformNorms by = norms;
        const float *wide = sums.wide, *box = sums.box, *third = sums.third;
        const float *taps = kernels.wide, *narrow_taps = kernels.narrow;
        float* __restrict to = score, * __restrict narrow_to = narrow;
        int found = 0;
#pragma GCC ivdep
        for (int x = 0; x < width; ++x) {
            const float signal = across<R>(wide + x, taps, kernels.radius);
            const float flat = box_across<R>(box + x, kernels.radius);
            const float z = uniform_score(signal, flat, by.box_ratio[x], by.norm[x], by.inverse_sigma[x]);
            found |= z >= threshold;
            to[x] = z;
            narrow_to[x] = across<narrow_radius>(third + x, narrow_taps, 0) * by.narrow_norm[x];
        }
        return found;
    }
};

struct WeightedScores {
    const ColumnSums &weights, &signal;
    const float* narrow_weights;
    const Kernels& kernels;
    int width;
    float threshold;
    float* __restrict score, * __restrict narrow;

    template <int R>
    bool run() const {
        const int radius = kernels.radius;
        const ColumnSums w = weights, s = signal;
        const float *taps = kernels.wide, *squared = kernels.squared, *narrow_taps = kernels.narrow;
        float* __restrict to = score, * __restrict narrow_to = narrow;
        int found = 0;
#pragma GCC ivdep
        for (int x = 0; x < width; ++x) {
            const float a = across<R>(w.wide + x, taps, radius), b = box_across<R>(w.box + x, radius);
            const float c = across<R>(w.third + x, squared, radius);
            const float p = across<R>(s.wide + x, taps, radius), q = box_across<R>(s.box + x, radius);
            const float z = weighted_score(a, b, c, p, q);
            found |= z >= threshold;
            to[x] = z;
            narrow_to[x] = across<narrow_radius>(s.third + x, narrow_taps, 0) /
                           across<narrow_radius>(narrow_weights + x, narrow_taps, 0);
        }
        return found;
    }
};

Lanes load(const float* from) {
    Lanes out;
    __builtin_memcpy(&out, from, sizeof out);
    return out;
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

bool uniform_scores(const ColumnSums& sums, const Kernels& kernels, const UniformNorms& norms, int width,
                    float threshold, float* score, float* narrow) {
    return with_radius(kernels.radius, UniformScores{sums, kernels, norms, width, threshold, score, narrow});
}

bool weighted_scores(const ColumnSums& weights, const ColumnSums& signal, const float* narrow_weights,
                     const Kernels& kernels, int width, float threshold, float* score, float* narrow) {
    return with_radius(kernels.radius,
                       WeightedScores{weights, signal, narrow_weights, kernels, width, threshold, score, narrow});
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

int find_maxima(const SearchedRows& rows, int width, float threshold, int* columns) {
    constexpr int block = 64;
    int count = 0;
    for (int begin = 0; begin < width; begin += block) {
        const int size = width - begin < block ? width - begin : block;
        const float *a = rows.above + begin, *h = rows.here + begin, *b = rows.below + begin, *z = rows.score + begin;
        int hit[block], any = 0;
        for (int x = 0; x < size; ++x) {
            hit[x] = (z[x] >= threshold) & is_maximum(a, h, b, x);
            any |= hit[x];
        }
        if (!any) continue;
        for (int x = 0; x < size; ++x)
            if (hit[x]) columns[count++] = begin + x;
    }
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
