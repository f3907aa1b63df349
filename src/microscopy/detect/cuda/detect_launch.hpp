// The plain structs and constants that the host passes to the detection kernels.
// SPDX-License-Identifier: MIT
#pragma once

#include "detect/frame_math.hpp"

namespace glint {

constexpr unsigned detect_threads = 128;
constexpr unsigned least_tile_team = 16;  // threads for each background tile; the smallest edge of one, px
constexpr int most_detect_radius = 24;    // px, of the filter for the widest spots, 8 px

/// Kernel parameter, by value. Frames are contiguous, pixels in C order.
struct FrameLaunch {
    int width, height;
    unsigned frames;
    float shot_noise, variance;  // CameraView::shot_noise(); v or the mean of its map, e-^2
    int has_qe;                  // the map of q follows that of v
};

/// From counts to photoelectrons: what is the same for all pixels, where there are no maps; and how many are masked.
struct CountsLaunch {
    float offset, factor;
    unsigned masked;
};

/// How blocks process background tiles, whose pixels are staged in shared memory where they fit.
struct TileLaunch {
    TileGrid grid;
    unsigned tiles_per_block;
    int rows;        // of the highest tile
    int row_stride;  // floats between the rows of a tile in shared memory, odd; 0: tiles are read from global memory
    unsigned first_sum;  // where in shared memory the sums of rows begin, in sums
};

/// The filter's taps (detect/filter.hpp); as kernel parameters they are read from constant memory.
struct ScoreLaunch {
    TileGrid grid;
    int radius;
    float wide[most_detect_radius + 1], squared[most_detect_radius + 1], narrow[4];
};

/// How a frame's maxima are listed: room for them, the filter's radius, and the reach of a plateau, px.
struct ListLaunch {
    unsigned capacity;
    int radius, plateau_reach;
};

constexpr unsigned list_threads = 2 * detect_threads, listed_together = 16;  // whose maxima are counted in one step
/// The median of the noise is found by so many digits, each of so many values; then each thread has so many sums.
constexpr unsigned noise_digits = 8, digit_values = 16, noise_sums = 3;

/// Which spots are written, of all frames: [first, first + count), with ROIs of `size` px.
struct SpotLaunch {
    int size;
    unsigned capacity;  // of each frame's list of maxima
    unsigned first, count;
};

/// Columns that a block of detect_threads scores: the others only provide the margins, of the filter, or of the narrow
/// one around the neighbours of a maximum. A frame has so many strips of them. And rows per block.
constexpr int score_margin(int radius) { return radius > 4 ? radius : 4; }
constexpr int score_columns(int radius) { return int(detect_threads) - 2 * score_margin(radius); }
constexpr int score_strips(int width, int radius) {
    return (width + score_columns(radius) - 1) / score_columns(radius);
}
constexpr int uniform_score_rows = 16, weighted_score_rows = 8;
/// Kinds of sums along columns of which scores are made, and those of the narrow filter.
struct ScoreSums {
    int wide, narrow;
};
constexpr ScoreSums uniform_sums{2, 1}, weighted_sums{5, 2};

/// Words of 32 columns that a row of a strip has in the bitmap of maxima; and the most maxima that a frame can have, as
/// no two are adjacent.
constexpr int words_of_strip = detect_threads / 32;
constexpr unsigned most_maxima(int width, int height) { return unsigned((width + 1) / 2) * unsigned((height + 1) / 2); }

}  // namespace glint
