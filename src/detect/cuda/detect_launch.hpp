// The plain structs and constants that the host passes to the detection kernels.
// SPDX-License-Identifier: MIT
#pragma once

#include "detect/frame_math.hpp"

namespace glint {

constexpr unsigned detect_threads = 128;
constexpr int most_detect_radius = 24;                // px, of the filter for the largest sigma, 8 px
constexpr int search_columns = 512, search_rows = 4;  // of the area in which a block searches for maxima

/// Kernel parameter, by value. Frames are contiguous, pixels in C order.
struct FrameLaunch {
    int width, height;
    unsigned frames;
    float shot_noise, variance;  // CameraView::shot_noise(); v or the mean of its map, e-^2
    int has_qe;                  // the map of q follows that of v
};

/// How blocks process background tiles: one per thread, staged in shared memory where they fit.
struct TileLaunch {
    TileGrid grid;
    unsigned tiles_per_block;
    int staged_stride;  // floats between tiles in shared memory, odd; 0: tiles are read from global memory
};

/// The filter's taps (detect/filter.hpp); as kernel parameters they are read from constant memory.
struct ScoreLaunch {
    TileGrid grid;
    int radius;
    float wide[most_detect_radius + 1], squared[most_detect_radius + 1], narrow[4];
};

/// Which spots are written, of all frames: [first, first + count), with ROIs of `size` px.
struct SpotLaunch {
    int size;
    unsigned capacity;  // of each frame's list of maxima
    unsigned first, count;
};

/// Number of columns that a block of detect_threads scores: the others only provide the margins. And of rows per block.
constexpr int score_columns(int radius) { return int(detect_threads) - 2 * radius; }
constexpr int uniform_score_rows = 16, weighted_score_rows = 8;

/// Words of 32 columns per row in the bitmap of maxima; and the most maxima that a frame can have, as no two are
/// adjacent.
constexpr unsigned mark_words(int width) { return unsigned(width + 31) / 32; }
constexpr unsigned most_maxima(int width, int height) { return unsigned((width + 1) / 2) * unsigned((height + 1) / 2); }

}  // namespace glint
