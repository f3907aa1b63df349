// Tiles of the background and samples of the noise, where a frame's pixels lie row after row: written once for the CPU
// and for the GPU's kernels.
// SPDX-License-Identifier: MIT
#pragma once

#include <math.h>

#include "detect/portable.hpp"

namespace glint {

/// Variance below which no pixel is trusted, e-^2: keeps a black frame from having infinite signal to noise.
constexpr float least_variance = 0.05f;
/// More than this is no chance but a camera that the model does not describe.
constexpr double most_noise_spread = 1.25;
/// Rows that share one interpolated row of noise, where the read noise is the same for all pixels.
constexpr int noise_rows = 4;

/// Tiles that cover a frame; the last one of a row or column takes what is left over.
struct TileGrid {
    int tile_px, columns, rows;
};

/// Where a position lies between the centres of tiles: the tile before, and how far it is to the next, 0 to 1.
struct Between {
    int tile;
    float fraction;
};

GLINT_PORTABLE Between between(int at, int tile_px, int tiles) {
    const float place = (float(at) + 0.5f) / float(tile_px) - 0.5f;
    int tile = int(place);
    if (tile > tiles - 2) tile = tiles > 1 ? tiles - 2 : 0;
    const float fraction = place - float(tile), most = tiles > 1 ? 1.0f : 0.0f;
    return {tile, fraction < 0 ? 0.0f : fraction > most ? most : fraction};
}

/// Between two nodes above each other.
GLINT_PORTABLE float blend(float above, float below, float fraction) { return above + fraction * (below - above); }

/// Along a row, i px after the centre of the tile whose blended node is `before`.
GLINT_PORTABLE float along(float before, float after, int tile_px, int i) {
    const float step = (after - before) / float(tile_px), first = before + 0.5f * step;
    return first + step * float(i);
}

/// The mean of a tile without its spots: from the plain mean, pixels that clipped_sum(mean, sum, count) leaves out are
/// clipped until the mean stands still.
template <class ClippedSum>
GLINT_PORTABLE float clipped_mean(double mean, float excess_noise, float variance, const ClippedSum& clipped_sum) {
    constexpr int max_passes = 10;
    for (int pass = 0; pass < max_passes; ++pass) {
        double sum = 0, count = 0;
        clipped_sum(float(mean), &sum, &count);
        if (!(count > 0)) break;
        const double before = mean;
        mean = sum / count;
        const double shot = excess_noise * mean;
        if (!(before - mean > 0.02 * sqrt((shot > 0 ? shot : 0.0) + variance))) break;
    }
    return float(mean);
}

GLINT_PORTABLE float shot_noise(float background, float excess_noise) {
    return excess_noise * (background > 0 ? background : 0.0f);
}
GLINT_PORTABLE float total_variance(float shot, float variance) {
    return shot + variance > least_variance ? shot + variance : least_variance;
}

/// The grid of pixels on which noise is sampled (EmptyNoise).
struct NoiseGrid {
    int step_px, columns, rows, spot_radius_px;
};
constexpr int noise_margin_px = 2;         // half of the window of the local mean
constexpr int least_noise_samples = 64;    // fewer tell nothing
constexpr float difference_norm = 36;      // sum of the squared coefficients of [1 -2 1] x [1 -2 1]
constexpr double outlier_squared = 25;     // five standard deviations
constexpr double median_of_chi2 = 0.4549;  // with one degree of freedom

GLINT_PORTABLE float second_difference(const float* at, long stride) {
    const float *above = at - stride, *below = at + stride;
    return above[-1] + above[1] + below[-1] + below[1] - 2 * (above[0] + at[-1] + at[1] + below[0]) + 4 * at[0];
}

GLINT_PORTABLE float local_mean(const float* at, long stride) {
    float sum = 0;
    for (int y = -noise_margin_px; y <= noise_margin_px; ++y)
        for (int x = -noise_margin_px; x <= noise_margin_px; ++x) sum += at[y * stride + x];
    return sum / 25;
}

/// Sum of c^2 v over the second difference's nine pixels, over its norm.
GLINT_PORTABLE float local_variance(const float* at, long stride) {
    const float *above = at - stride, *below = at + stride;
    const float corners = above[-1] + above[1] + below[-1] + below[1];
    return (corners + 4 * (above[0] + at[-1] + at[1] + below[0]) + 16 * at[0]) / difference_norm;
}

/// Squares over the variance of the background's tile.
struct NoiseSample {
    float observed, expected;
};

/// `variance`: of the pixel at `at` in a map, or null: `variance_scalar`.
GLINT_PORTABLE NoiseSample noise_sample(const float* at, const float* variance, long stride, float excess_noise,
                                        float variance_scalar, float tile_variance) {
    const float difference = second_difference(at, stride), mean = local_mean(at, stride);
    const float shot = excess_noise * (mean > 0 ? mean : 0.0f);
    const float read = variance ? local_variance(variance, stride) : variance_scalar;
    return {difference * difference / (difference_norm * tile_variance), (shot + read) / tile_variance};
}

/// Grid indices [first, end) of the samples within `radius` of a place.
struct GridRange {
    int first, end;
};
GLINT_PORTABLE GridRange samples_near(int at, int radius, int step, int count) {
    const int low = at - radius - noise_margin_px, high = at + radius - noise_margin_px;
    const int end = high < 0 ? 0 : high / step + 1;
    return {low <= 0 ? 0 : (low + step - 1) / step, end < count ? end : count};
}

/// Samples above this are no noise: `median` is that of the observed squares.
GLINT_PORTABLE double noise_limit(float median) {
    const double robust = median / median_of_chi2;
    return outlier_squared * (robust > 1 ? robust : 1.0);
}

/// Root of observed over expected variance, from sums over the samples below the limit; 0 without information.
GLINT_PORTABLE double noise_spread(double observed, double expected, double samples) {
    const double least = 1e-6 * samples, spread = sqrt(observed / (expected > least ? expected : least));
    return samples >= least_noise_samples && spread < 1e300 ? spread : 0.0;  // not so where it is no number
}

/// How much more noise a frame has than the camera model says; 1 when that could be chance. The threshold rises by it,
/// so that a wrong camera costs dim spots and does not fill the picture with noise.
GLINT_PORTABLE float noise_excess(double spread) { return spread > most_noise_spread ? float(spread) : 1.0f; }

/// Maxima of exactly the same height this near to each other belong to one saturated area.
constexpr int plateau_reach(int radius) { return 2 * radius + 2; }

}  // namespace glint
