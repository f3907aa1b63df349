// The inner loops of detection over pixel rows, compiled once per instruction set (base/isa.hpp).
// SPDX-License-Identifier: MIT
#pragma once

#include "base/isa.hpp"

namespace glint {

constexpr int narrow_radius = 3;  ///< px, taps of the narrow filter beyond its centre
constexpr int row_margin = 32;    ///< px, readable zeros on both sides of a padded row

/// Rows whose column sums are computed together, since they share most pixels.
constexpr int rows_together = 4;

/// The filter's symmetric kernels as taps from the centre outwards. `wide` and `squared` have radius + 1 taps, `narrow`
/// has narrow_radius + 1. `pairs` alternates the wide kernel's taps and 1, for ColumnSums::pairs. It ends with zeros up
/// to the next multiple of taps_together taps beyond the centre. Filter owns the arrays.
struct Kernels {
    int radius;
    const float *wide, *squared, *narrow, *pairs;  ///< `squared` is wide * wide
};
constexpr int taps_together = 4;

/// Column sums over 2 * radius + 1 rows. `pairs` alternates sums with the wide kernel and unweighted sums, since scores
/// need both at the same columns. The third sum uses the narrow or squared kernel. All have row_margin readable columns
/// on both sides, so that sums along the row need no test for the edge.
struct ColumnSums {
    float *pairs, *third;
};

/// The factors that turn the sums of one row into scores for uniform noise (eq. 5.6).
struct UniformNorms {
    const float* box_ratio;      ///< A / B of eq. 5.5
    const float* norm;           ///< 1 / sqrt(C - A^2 / B); 0 if spot and background are indistinguishable
    const float* inverse_noise;  ///< 1 / sqrt(f bg + v)
};

/// Three padded rows of the narrow filter; `here` is searched.
struct SearchedRows {
    const float *above, *here, *below;
};

/// A tile of pixels, with the noise needed for its clipped mean.
struct Tile {
    const float* pixels;
    const float* variance;  ///< per pixel; null: variance_scalar applies
    const float* qe;        ///< per pixel, together with `variance`; null: included in shot_noise
    long stride;            ///< between rows of pixels and maps
    int width, height;
    float shot_noise, variance_scalar;  ///< CameraView::shot_noise
};

// clang-format off
GLINT_PER_ISA(
/// Computes the column sums of rows_together rows, from rows[k] ... rows[k + 2 * radius] into out[k]. The third kernel
/// is the narrow one.
void narrow_column_sums(const float* const* rows, const Kernels& kernels, int width, const ColumnSums* out);
/// The same with the squared wide kernel as the third one.
void squared_column_sums(const float* const* rows, const Kernels& kernels, int width, const ColumnSums* out);
/// The same rows with the narrow kernel only.
void narrow_column_sum(const float* const* rows, int radius, const float* narrow, int width, float* out);

/// Computes the narrow filter of a row (eq. 5.7) from its column sums: times `norm`, or divided by the filter of the
/// weights.
void uniform_narrow(const float* sums, const float* taps, const float* norm, int width, float* narrow);
void weighted_narrow(const float* sums, const float* weights, const float* taps, int width, float* narrow);

/// Scores at `count` columns of a row (eq. 5.6).
void uniform_scores(const ColumnSums& sums, const Kernels& kernels, const UniformNorms& norms, const int* columns,
                    int count, float* scores);
/// The same with weights per pixel (eq. 5.5): `weights` from squared_column_sums of w, `signal` from narrow_column_sums
/// of w e.
void weighted_scores(const ColumnSums& weights, const ColumnSums& signal, const Kernels& kernels, const int* columns,
                     int count, float* scores);
/// Computes weights w = 1 / max(shot / q + v, least) (eq. 5.2) and products w e; if `qe` is null, q = 1.
void weigh(const float* pixels, const float* shot_noise, const float* variance, const float* qe, float min_variance,
           int width, float* weights, float* weighted);

/// Writes the columns at which `here` is the maximum of its 3x3 neighbourhood (the first of equal values). Returns
/// their number. `columns` needs room for width + row_margin.
int find_maxima(const SearchedRows& rows, int width, int* columns);

/// Returns sum and number of the pixels that exceed `mean` by at most three standard deviations and 2 f (eq. 5.8).
void clipped_sum(const Tile& tile, float mean, double* sum, double* count);
/// Returns the sum of all pixels.
double plain_sum(const Tile& tile);
)
// clang-format on

}  // namespace glint
