// The plain structs and constants that the host passes to the detection kernels.
// SPDX-License-Identifier: MIT
#pragma once

#include "detect/frame_math.hpp"

namespace glint {

constexpr unsigned detect_threads = 128;
constexpr unsigned min_tile_team = 16;  // threads for each background tile; minimum edge of a tile, px
constexpr int max_detect_radius = 24;   // px, of the filter for the widest spots (8 px)

/// Kernel parameter, by value. Frames are contiguous, pixels in C order.
struct FrameLaunch {
    int width, height;
    unsigned frames;
    float shot_noise, variance;  // CameraView::shot_noise(); v or the mean of its map, e-^2
    int has_qe;                  // the map of q follows the map of v
};

/// Conversion from counts: the values common to all pixels, used without maps, and the number of masked pixels.
struct CountsLaunch {
    float offset, factor;
    unsigned masked;
};

/// How blocks process background tiles, whose pixels are staged in shared memory if they fit.
struct TileLaunch {
    TileGrid grid;
    unsigned tiles_per_block;
    int rows;        // of the tallest tile
    int row_stride;  // floats between the rows of a tile in shared memory, odd; 0: tiles are read from global memory
    unsigned first_sum;  // offset of the row sums in shared memory, in sums
};

/// The filter's taps (detect/filter.hpp); as kernel parameters they are read from constant memory.
struct ScoreLaunch {
    TileGrid grid;
    int radius;
    float wide[max_detect_radius + 1], squared[max_detect_radius + 1], narrow[4];
};

/// Parameters of the lists of maxima: capacity per frame, the filter's radius, and the reach of a plateau, px.
struct ListLaunch {
    unsigned capacity;
    int radius, plateau_reach;
};

// threads whose maxima are counted in one step
constexpr unsigned list_threads = 2 * detect_threads, listed_together = 16;
/// Number of digits of the noise's median, values of a digit, and sums per thread afterwards.
constexpr unsigned noise_digits = 8, digit_values = 16, noise_sums = 3;

/// Selects the spots to write among those of all frames: [first, first + count), with ROIs of `size` px.
struct SpotLaunch {
    int size;
    unsigned capacity;  // of each frame's list of maxima
    unsigned first, count;
};

/// Columns and rows that a block of detect_threads scores, and the strips of a frame. The remaining columns only
/// provide the margins of the filter, or of the narrow filter around the neighbours of a maximum.
constexpr int score_margin(int radius) { return radius > 4 ? radius : 4; }
constexpr int score_columns(int radius) { return int(detect_threads) - 2 * score_margin(radius); }
constexpr int score_strips(int width, int radius) {
    return (width + score_columns(radius) - 1) / score_columns(radius);
}
constexpr int uniform_score_rows = 16, weighted_score_rows = 8;
/// Number of column sums per score, and per value of the narrow filter.
struct ScoreSums {
    int wide, narrow;
};
constexpr ScoreSums uniform_sums{2, 1}, weighted_sums{5, 2};

/// Number of 32-column words per row of a strip in the bitmap of maxima. Also the maximum number of maxima of a frame,
/// since no two are adjacent.
constexpr int words_of_strip = detect_threads / 32;
constexpr unsigned max_maxima(int width, int height) { return unsigned((width + 1) / 2) * unsigned((height + 1) / 2); }

}  // namespace glint
