// Background tiles and noise samples of a frame in C order (theory.md, eq. 5.8 and 5.9). One source for the CPU and for
// GPU kernels, so that both find the same spots.
// SPDX-License-Identifier: MIT
#pragma once

#include <math.h>

#include "detect/portable.hpp"

namespace glint {

/// Pixels with at least this read variance are masked: masked_variance_e2 of glint/camera.hpp.
constexpr float masked_variance = 1e6f;
/// Minimum variance of a pixel, e-^2: keeps the signal-to-noise ratio of a black frame finite.
constexpr float min_variance = 0.05f;
/// If a frame's noise check exceeds this, the camera model does not describe the frame; chance alone does not reach it.
constexpr double max_noise_spread = 1.25;
/// With uniform read noise, this many rows share one interpolated row of noise, which varies slowly.
constexpr int noise_rows = 4;

/// Tiles that cover a frame. The last tile of a row or column includes the remainder.
struct TileGrid {
    int tile_px, columns, rows;
};

/// A position between tile centres: the tile before it, and the fraction of the way to the next tile, 0 to 1.
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

/// Linear interpolation between two nodes in a column.
GLINT_PORTABLE float blend(float above, float below, float fraction) { return above + fraction * (below - above); }

/// Linear interpolation along a row, at pixel i after the centre of the tile whose value is `before`.
GLINT_PORTABLE float along(float before, float after, int tile_px, int i) {
    const float step = (after - before) / float(tile_px), first = before + 0.5f * step;
    return first + step * float(i);
}

/// Limits of the clipped mean. It starts from the plain mean of a tile. Each pass averages the pixels below the limit
/// around the last mean. It ends (returns false) when the mean decreases by less than 2 % of a pixel's noise. Only
/// pixels above are clipped: if a bright spot has raised the mean, a lower limit would exclude the background instead.
constexpr int max_clipping_passes = 10;
GLINT_PORTABLE bool clip(double& mean, double sum, double count, float shot_noise, float variance) {
    if (!(count > 0)) return false;
    const double before = mean;
    mean = sum / count;
    const double shot = shot_noise * mean;
    return before - mean > 0.02 * sqrt((shot > 0 ? shot : 0.0) + variance);
}

/// Shot noise variance f bg, and total variance f bg + v, of a background. `per_electron`: f, CameraView::shot_noise().
GLINT_PORTABLE float shot_noise(float background, float per_electron) {
    return per_electron * (background > 0 ? background : 0.0f);
}
GLINT_PORTABLE float total_variance(float shot, float variance) {
    return shot + variance > min_variance ? shot + variance : min_variance;
}

/// If at most this part of a tile's pixels is present, the tile has no mean, and its value is NaN.
constexpr int min_part_of_tile = 8;  // an eighth
GLINT_PORTABLE bool is_enough_of_tile(double count, int width, int height) {
    return count * min_part_of_tile >= double(width) * height;
}
/// Shot noise variance of a tile's mean; NaN if the mean is NaN.
GLINT_PORTABLE float tile_shot_noise(float mean, float per_electron) {
    return mean == mean ? shot_noise(mean, per_electron) : mean;
}
/// Replaces NaN tiles by the value of a neighbour in their row, or of a neighbouring row. If all tiles are NaN, sets so
/// much noise that no spots are found.
GLINT_PORTABLE void fill_missing_tiles(float* values, int columns, int rows) {
    constexpr float no_light = 1e30f;
    const auto copy_if_missing = [](float* to, const float* from) {
        if (!(*to == *to)) *to = *from;
    };
    for (int y = 0; y < rows; ++y) {
        float* row = values + y * columns;
        for (int x = 1; x < columns; ++x) copy_if_missing(row + x, row + x - 1);
        for (int x = columns - 2; x >= 0; --x) copy_if_missing(row + x, row + x + 1);
    }
    for (int k = columns; k < rows * columns; ++k) copy_if_missing(values + k, values + k - columns);
    for (int k = (rows - 1) * columns - 1; k >= 0; --k) copy_if_missing(values + k, values + k + columns);
    for (int k = 0; k < rows * columns; ++k) copy_if_missing(values + k, &no_light);
}

/// The grid of pixels at which noise is sampled (EmptyNoise).
struct NoiseGrid {
    int step_px, columns, rows, spot_radius_px;
};
constexpr int noise_margin_px = 2;         // distance of the grid from the frame's edge
constexpr int min_noise_samples = 64;      // fewer give no result
constexpr float difference_norm = 36;      // sum of the squared coefficients of [1 -2 1] x [1 -2 1]
constexpr double outlier_squared = 25;     // five standard deviations
constexpr double median_of_chi2 = 0.4549;  // for one degree of freedom

/// [1 -2 1] x [1 -2 1] at a pixel: zero for any linear structure, and nearly so for a spot.
GLINT_PORTABLE float second_difference(const float* at, long stride) {
    const float *above = at - stride, *below = at + stride;
    return above[-1] + above[1] + below[-1] + below[1] - 2 * (above[0] + at[-1] + at[1] + below[0]) + 4 * at[0];
}

/// Returns the mean of v over the second difference's nine pixels, weighted by c^2 (eq. 5.9). v(k): the value at offset
/// k from the centre.
template <class Value>
GLINT_PORTABLE float local_average(const Value& v, long stride) {
    const float corners = v(-stride - 1) + v(-stride + 1) + v(stride - 1) + v(stride + 1);
    return (corners + 4 * (v(-stride) + v(-1) + v(1) + v(stride)) + 16 * v(0)) / difference_norm;
}

/// Observed and expected variance of a sample. Both are divided by the variance of the background's tile, so that
/// samples of bright and dim regions have comparable weights. `observed` is NaN for an unusable sample.
struct NoiseSample {
    float observed, expected;
};

/// A position at which noise is sampled. Pointers point to the sample's pixel in the frame and in maps of the same
/// stride. If a map is null, its scalar applies to all pixels.
struct NoisePlace {
    const float* photoelectrons;
    long stride;
    const float *variance, *qe, *offset, *factor;  ///< as in CameraView::Maps
    float shot_noise, variance_scalar, factor_scalar, tile_variance;
};

/// Returns a pixel's noise in quantization steps: an ADU, or a photoelectron if the read noise is too small to blur
/// them.
GLINT_PORTABLE float noise_in_steps(const NoisePlace& at, float light, float read) {
    const float per_electron = at.qe ? at.shot_noise / at.qe[0] : at.shot_noise;
    const float adu = at.factor ? at.factor[0] : at.factor_scalar;
    const float step = per_electron > adu && read < 0.25f * adu * adu ? per_electron : adu;
    return sqrtf(shot_noise(light, per_electron) + read) / step;
}

/// Returns true if the noise is clipped, as in a saturated or masked area: the nine pixels have the same count, or
/// three of the surrounding 25 have the highest. A pixel with little noise in quantization steps is not clipped,
/// because this occurs by chance: the first in one of 300 positions, the second in one of 30.
GLINT_PORTABLE bool is_cut_off(const NoisePlace& at, float read) {
    const auto count_at = [&](long k) {
        const float e = at.photoelectrons[k];
        return at.factor ? e / at.factor[k] + at.offset[k] : e;
    };
    const auto rounding_of = [&](float count) {  // rounding error of converting counts and back
        return at.factor ? 4e-6f * ((count > 0 ? count : -count) + (at.offset[0] > 0 ? at.offset[0] : -at.offset[0]))
                         : 0.0f;
    };
    // Without branches, because the position of the highest of the 25 is unpredictable.
    constexpr int side = 2 * noise_margin_px + 1;
    float counts[side][side];
    GLINT_UNROLL
    for (int y = 0; y < side; ++y) GLINT_UNROLL
    for (int x = 0; x < side; ++x) counts[y][x] = count_at((y - noise_margin_px) * at.stride + x - noise_margin_px);
    const float centre = counts[noise_margin_px][noise_margin_px], same = rounding_of(centre);
    float most = centre;
    GLINT_UNROLL
    for (int y = 0; y < side; ++y) GLINT_UNROLL
    for (int x = 0; x < side; ++x) most = counts[y][x] > most ? counts[y][x] : most;
    const float high = most - rounding_of(most);
    int highest = 0;
    GLINT_UNROLL
    for (int y = 0; y < side; ++y) GLINT_UNROLL
    for (int x = 0; x < side; ++x) highest += counts[y][x] >= high;
    const auto is_flat = [&] {
        for (int y = 1; y + 1 < side; ++y)
            for (int x = 1; x + 1 < side; ++x)
                if (!(counts[y][x] >= centre - same && counts[y][x] <= centre + same)) return false;
        return true;
    };
    const float light = at.photoelectrons[0];
    if (is_flat() && (light < 0 || noise_in_steps(at, light, read) > 0.8f)) return true;
    if (highest < 3) return false;
    float brightest = light;
    for (int y = 0; y < side; ++y)
        for (int x = 0; x < side; ++x)
            if (counts[y][x] == most)
                brightest = at.photoelectrons[(y - noise_margin_px) * at.stride + x - noise_margin_px];
    return noise_in_steps(at, brightest, read) > 8;
}

/// Returns true if one of the second difference's nine pixels is masked. Its value comes from its neighbours and does
/// not have their noise.
GLINT_PORTABLE bool is_masked_around(const NoisePlace& at) {
    if (!at.variance) return false;
    bool any = false;
    for (int y = -1; y <= 1; ++y)
        for (int x = -1; x <= 1; ++x) any |= at.variance[y * at.stride + x] >= masked_variance;
    return any;
}

/// Returns one sample of eq. 5.9. The expected variance is that of the nine pixels' own signal: noisy, but unbiased in
/// any surroundings. No camera has a negative signal. Therefore the part of the mean that is more than two standard
/// errors below 0 counts as noise, which reveals an offset that is too high.
GLINT_PORTABLE NoiseSample noise_sample(const NoisePlace& at) {
    const float difference = second_difference(at.photoelectrons, at.stride);
    const auto of_light = [&](long k) { return at.photoelectrons[k]; };
    const auto of_light_by_qe = [&](long k) { return at.photoelectrons[k] / at.qe[k]; };
    const auto of_map = [&](long k) { return at.variance[k]; };
    const float light = local_average(of_light, at.stride);
    const float shot = at.shot_noise * (at.qe ? local_average(of_light_by_qe, at.stride) : light);
    const float read = at.variance ? local_average(of_map, at.stride) : at.variance_scalar;
    if (is_masked_around(at) || is_cut_off(at, read)) return {__builtin_nanf(""), 0};
    const float missing = -light - sqrtf(read), below = missing > 0 ? missing : 0.0f;
    return {(difference * difference / difference_norm + below * below) / at.tile_variance,
            (shot + read) / at.tile_variance};
}

/// Grid indices [first, end) of the samples within `radius` of a position.
struct GridRange {
    int first, end;
};
GLINT_PORTABLE GridRange samples_near(int at, int radius, int step, int count) {
    const int low = at - radius - noise_margin_px, high = at + radius - noise_margin_px;
    const int end = high < 0 ? 0 : high / step + 1;
    return {low <= 0 ? 0 : (low + step - 1) / step, end < count ? end : count};
}

/// Returns the limit of outliers: five robust standard deviations. `median`: of the observed squares.
GLINT_PORTABLE double noise_limit(float median) {
    const double robust = median / median_of_chi2;
    return outlier_squared * (robust > 1 ? robust : 1.0);
}

/// Returns the noise check: the root of observed over expected variance, from sums over the samples below the limit. 0
/// if there is no information.
GLINT_PORTABLE double noise_spread(double observed, double expected, double samples) {
    const double least = 1e-6 * samples, spread = sqrt(observed / (expected > least ? expected : least));
    return samples >= min_noise_samples && spread < 1e300 ? spread : 0.0;  // false for NaN
}

/// Returns the factor on the threshold: the noise check if it exceeds max_noise_spread, else 1. With wrong camera
/// parameters, this loses dim spots but prevents many false ones.
GLINT_PORTABLE float noise_excess(double spread) { return spread > max_noise_spread ? float(spread) : 1.0f; }

/// Maxima of exactly equal height within this distance, px, belong to one saturated area.
constexpr int plateau_reach(int radius) { return 2 * radius + 2; }

}  // namespace glint
