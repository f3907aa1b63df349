// The loops over pixel rows that detection spends its time in, compiled once per instruction set.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/isa.hpp"

namespace glint {

constexpr int narrow_radius = 3;  ///< px, taps of the narrow filter beyond its centre
constexpr int row_margin = 32;    ///< px, readable zeros on both sides of a padded row

/// Two even kernels by their taps from the centre outwards: `wide` has radius + 1, `narrow` narrow_radius
/// + 1.
struct Kernels {
    int radius;
    const float *wide, *squared, *narrow;  ///< `squared` is wide * wide
};

/// Sums down the columns of 2 * radius + 1 rows: with the wide kernel, unweighted, with the narrow or squared
/// one. All have row_margin before and after, so that sums along the row may read there.
struct ColumnSums {
    float *wide, *box, *third;
};

/// What turns the sums of one row into its score where the noise is uniform (docs/theory.md, eq. 5.6).
struct UniformNorms {
    const float* box_ratio;      ///< A / B of eq. 5.5
    const float* norm;           ///< 1 / sqrt(C - A^2 / B); 0 where a spot and a background look alike
    const float* inverse_sigma;  ///< 1 / sqrt(f bg + v)
    const float* narrow_norm;    ///< 1 / sum of the narrow kernel's taps inside the frame
};

/// Three padded rows of the narrow filter around the one that is searched, and its score.
struct SearchedRows {
    const float *above, *here, *below, *score;
};

/// A rectangle of pixels and what its background's clipped mean needs.
struct Tile {
    const float* pixels;
    const float* variance;  ///< per pixel, or null: variance_scalar
    const float* qe;        ///< per pixel, with `variance`, or null: it is in shot_noise
    long stride;            ///< from row to row of all
    int width, height;
    float shot_noise, variance_scalar;  ///< CameraView::shot_noise
};

// clang-format off
GLINT_PER_ISA(
/// rows[0] to rows[2 * radius] around the centre; the third kernel is the narrow one.
void narrow_column_sums(const float* const* rows, const Kernels& kernels, int width, const ColumnSums& out);
/// The same, but the third kernel is the wide one squared.
void squared_column_sums(const float* const* rows, const Kernels& kernels, int width, const ColumnSums& out);
/// The narrow kernel alone, on the same rows.
void narrow_column_sum(const float* const* rows, int radius, const float* narrow, int width, float* out);

/// Score and narrow filter of a row; true when any score reaches the threshold.
bool uniform_scores(const ColumnSums& sums, const Kernels& kernels, const UniformNorms& norms, int width,
                    float threshold, float* score, float* narrow);
/// The same with weights per pixel: `weights` from squared_column_sums of w, `signal` from narrow_column_sums of w e.
bool weighted_scores(const ColumnSums& weights, const ColumnSums& signal, const float* narrow_weights,
                     const Kernels& kernels, int width, float threshold, float* score, float* narrow);
/// w = 1 / max(shot / q + v, least) and w e; `qe` null: q = 1.
void weigh(const float* pixels, const float* shot_noise, const float* variance, const float* qe, float least_variance,
           int width, float* weights, float* weighted);

/// Columns where `here` is the maximum of its 3x3 neighbourhood (of equals, the first) and the score reaches the
/// threshold; returns their number.
int find_maxima(const SearchedRows& rows, int width, float threshold, int* columns);

/// Sum and number of the pixels that do not exceed `mean` by more than three standard deviations and 2 f.
void clipped_sum(const Tile& tile, float mean, double* sum, double* count);
/// Sum of all pixels.
double plain_sum(const Tile& tile);
)
// clang-format on

}  // namespace glint
