// The inner loops of detection over pixel rows, compiled once per instruction set (base/isa.hpp).
// SPDX-License-Identifier: MIT
#pragma once

#include "base/isa.hpp"

namespace glint {

constexpr int narrow_radius = 3;  ///< px, taps of the narrow filter beyond its centre
constexpr int row_margin = 32;    ///< px, readable zeros on both sides of a padded row

/// Rows whose column sums are computed at once: they share most pixels.
constexpr int rows_together = 4;

/// The filter's symmetric kernels as taps from the centre outwards: `wide` and `squared` have radius + 1, `narrow` has
/// narrow_radius + 1. `pairs` has the wide one's and 1 in turns, for ColumnSums::pairs, and zeros up to the next
/// multiple of taps_together taps beyond the centre. Borrowed from Filter.
struct Kernels {
    int radius;
    const float *wide, *squared, *narrow, *pairs;  ///< `squared` is wide * wide
};
constexpr int taps_together = 4;

/// Column sums over 2 * radius + 1 rows: with the wide kernel and unweighted, in turns, since scores need both of the
/// same columns; and with the narrow or squared kernel. All have row_margin readable columns on both sides, so that
/// sums along the row need no test for the edge.
struct ColumnSums {
    float *pairs, *third;
};

/// The factors that turn the sums of one row into scores for uniform noise (eq. 5.6).
struct UniformNorms {
    const float* box_ratio;      ///< A / B of eq. 5.5
    const float* norm;           ///< 1 / sqrt(C - A^2 / B); 0 where spot and background are indistinguishable
    const float* inverse_noise;  ///< 1 / sqrt(f bg + v)
};

/// Three padded rows of the narrow filter, of which `here` is searched.
struct SearchedRows {
    const float *above, *here, *below;
};

/// A tile of pixels, with the noise that its clipped mean needs.
struct Tile {
    const float* pixels;
    const float* variance;  ///< per pixel, or null: variance_scalar
    const float* qe;        ///< per pixel, together with `variance`; null: contained in shot_noise
    long stride;            ///< between rows, of pixels and maps
    int width, height;
    float shot_noise, variance_scalar;  ///< CameraView::shot_noise
};

// clang-format off
GLINT_PER_ISA(
/// Column sums of rows_together rows: of rows[k] to rows[k + 2 * radius] into out[k]. The third kernel is the narrow
/// one.
void narrow_column_sums(const float* const* rows, const Kernels& kernels, int width, const ColumnSums* out);
/// The same with the squared wide kernel as the third one.
void squared_column_sums(const float* const* rows, const Kernels& kernels, int width, const ColumnSums* out);
/// With the narrow kernel only, on the same rows.
void narrow_column_sum(const float* const* rows, int radius, const float* narrow, int width, float* out);

/// The narrow filter of a row (eq. 5.7) from its column sums, times `norm`, or over that of the weights' column sums.
void uniform_narrow(const float* sums, const float* taps, const float* norm, int width, float* narrow);
void weighted_narrow(const float* sums, const float* weights, const float* taps, int width, float* narrow);

/// Scores at `count` columns of a row (eq. 5.6).
void uniform_scores(const ColumnSums& sums, const Kernels& kernels, const UniformNorms& norms, const int* columns,
                    int count, float* scores);
/// The same with weights per pixel (eq. 5.5): `weights` from squared_column_sums of w, `signal` from narrow_column_sums
/// of w e.
void weighted_scores(const ColumnSums& weights, const ColumnSums& signal, const Kernels& kernels, const int* columns,
                     int count, float* scores);
/// Weights w = 1 / max(shot / q + v, least) (eq. 5.2) and products w e; `qe` null: q = 1.
void weigh(const float* pixels, const float* shot_noise, const float* variance, const float* qe, float least_variance,
           int width, float* weights, float* weighted);

/// Writes the columns where `here` is the maximum of its 3x3 neighbourhood (of equal ones, the first); returns their
/// number. `columns` has room for width + row_margin.
int find_maxima(const SearchedRows& rows, int width, int* columns);

/// Sum and number of the pixels that exceed `mean` by at most three standard deviations and 2 f (eq. 5.8).
void clipped_sum(const Tile& tile, float mean, double* sum, double* count);
/// Sum of all pixels.
double plain_sum(const Tile& tile);
)
// clang-format on

}  // namespace glint
