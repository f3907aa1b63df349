// Tiles of the background and samples of the noise, where a frame's pixels lie row after row: written once for the CPU
// and for the GPU's kernels.
// SPDX-License-Identifier: MIT
#pragma once

#include <math.h>

#include "detect/portable.hpp"

namespace glint {

/// Variance below which no pixel is trusted, e-^2: keeps a black frame from having infinite signal to noise.
constexpr float least_variance = 0.05f;
/// More than this in a frame is no chance but a camera that the model does not describe.
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
GLINT_PORTABLE float clipped_mean(double mean, float shot_noise, float variance, const ClippedSum& clipped_sum) {
    constexpr int max_passes = 10;
    for (int pass = 0; pass < max_passes; ++pass) {
        double sum = 0, count = 0;
        clipped_sum(float(mean), &sum, &count);
        if (!(count > 0)) break;
        const double before = mean;
        mean = sum / count;
        const double shot = shot_noise * mean;
        if (!(before - mean > 0.02 * sqrt((shot > 0 ? shot : 0.0) + variance))) break;
    }
    return float(mean);
}

/// `per_electron`: CameraView::shot_noise().
GLINT_PORTABLE float shot_noise(float background, float per_electron) {
    return per_electron * (background > 0 ? background : 0.0f);
}
GLINT_PORTABLE float total_variance(float shot, float variance) {
    return shot + variance > least_variance ? shot + variance : least_variance;
}

/// The grid of pixels on which noise is sampled (EmptyNoise).
struct NoiseGrid {
    int step_px, columns, rows, spot_radius_px;
};
constexpr int noise_margin_px = 2;         // of the grid to the frame's edge
constexpr int least_noise_samples = 64;    // fewer tell nothing
constexpr float difference_norm = 36;      // sum of the squared coefficients of [1 -2 1] x [1 -2 1]
constexpr double outlier_squared = 25;     // five standard deviations
constexpr double median_of_chi2 = 0.4549;  // with one degree of freedom

GLINT_PORTABLE float second_difference(const float* at, long stride) {
    const float *above = at - stride, *below = at + stride;
    return above[-1] + above[1] + below[-1] + below[1] - 2 * (above[0] + at[-1] + at[1] + below[0]) + 4 * at[0];
}

/// Sum of c^2 v over the second difference's nine pixels, over its norm; v(k): of the k-th pixel from the centre.
template <class Value>
GLINT_PORTABLE float local_average(const Value& v, long stride) {
    const float corners = v(-stride - 1) + v(-stride + 1) + v(stride - 1) + v(stride + 1);
    return (corners + 4 * (v(-stride) + v(-1) + v(1) + v(stride)) + 16 * v(0)) / difference_norm;
}

/// Squares over the variance of the background's tile; `observed` is NaN where the sample tells nothing.
struct NoiseSample {
    float observed, expected;
};

/// Where noise is sampled. Pointers are to the sample's pixel, in a frame and in maps of the same stride, which may be
/// null: then the number holds for all pixels.
struct NoisePlace {
    const float* photoelectrons;
    long stride;
    const float *variance, *qe, *offset, *factor;  ///< as in CameraView::Maps
    float shot_noise, variance_scalar, factor_scalar, tile_variance;
};

/// A pixel's noise in steps that its count goes by: an ADU, or a photoelectron where no read noise lies between.
GLINT_PORTABLE float noise_in_steps(const NoisePlace& at, float light, float read) {
    const float per_electron = at.qe ? at.shot_noise / at.qe[0] : at.shot_noise;
    const float adu = at.factor ? at.factor[0] : at.factor_scalar;
    const float step = per_electron > adu && read < 0.25f * adu * adu ? per_electron : adu;
    return sqrtf(shot_noise(light, per_electron) + read) / step;
}

/// Whether noise was lost, as at a camera's saturation or in an area that was painted over: the nine pixels have the same
/// count, or three of the 25 around have the highest one. Not so where such a pixel has so few steps of noise that this
/// happens by chance, in one of 300 places and in one of 30.
GLINT_PORTABLE bool is_cut_off(const NoisePlace& at, float read) {
    const auto count_at = [&](long k) {
        const float e = at.photoelectrons[k];
        return at.factor ? e / at.factor[k] + at.offset[k] : e;
    };
    const auto rounding_of = [&](float count) {  // of what conversion and its reverse do
        return at.factor ? 4e-6f * ((count > 0 ? count : -count) + (at.offset[0] > 0 ? at.offset[0] : -at.offset[0]))
                         : 0.0f;
    };
    const float centre = count_at(0), same = rounding_of(centre);
    float most = centre, brightest = at.photoelectrons[0];
    int equal = 0, highest = 0;
    for (int y = -noise_margin_px; y <= noise_margin_px; ++y)
        for (int x = -noise_margin_px; x <= noise_margin_px; ++x) {
            const long k = y * at.stride + x;
            const float count = count_at(k), rounding = rounding_of(most);
            if (count > most + rounding)
                most = count, brightest = at.photoelectrons[k], highest = 1;
            else
                highest += count >= most - rounding;
            const bool is_near = x * x <= 1 && y * y <= 1;
            equal += is_near && count >= centre - same && count <= centre + same;
        }
    const float light = at.photoelectrons[0];
    if (equal == 9 && (light < 0 || noise_in_steps(at, light, read) > 0.8f)) return true;
    return highest >= 3 && noise_in_steps(at, brightest, read) > 8;
}

/// Expected is the noise of the light that the nine pixels have: noisy itself, but right in the mean whatever lies around.
/// Light below 0, by more than two standard errors of the nine pixels, is what no camera has: it counts as noise.
GLINT_PORTABLE NoiseSample noise_sample(const NoisePlace& at) {
    const float difference = second_difference(at.photoelectrons, at.stride);
    const auto of_light = [&](long k) { return at.photoelectrons[k]; };
    const auto of_light_by_qe = [&](long k) { return at.photoelectrons[k] / at.qe[k]; };
    const auto of_map = [&](long k) { return at.variance[k]; };
    const float light = local_average(of_light, at.stride);
    const float shot = at.shot_noise * (at.qe ? local_average(of_light_by_qe, at.stride) : light);
    const float read = at.variance ? local_average(of_map, at.stride) : at.variance_scalar;
    if (is_cut_off(at, read)) return {__builtin_nanf(""), 0};
    const float missing = -light - sqrtf(read), below = missing > 0 ? missing : 0.0f;
    return {(difference * difference / difference_norm + below * below) / at.tile_variance,
            (shot + read) / at.tile_variance};
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
