// What crosses from the host into the kernels that find spots.
// SPDX-License-Identifier: MIT
#pragma once

#include "detect/frame_math.hpp"

namespace glint {

constexpr unsigned detect_threads = 128;
constexpr int most_detect_radius = 24;                // px, of a filter for spots 8 px wide
constexpr int search_columns = 512, search_rows = 4;  // of the pixels that a block looks for maxima in

/// By value. Frames lie one after the other, pixels in C order.
struct FrameLaunch {
    int width, height;
    unsigned frames;
    float shot_noise, variance;  // CameraView::shot_noise(); v, e-^2, where there is no map, else its mean
    int has_qe;                  // a map of q lies behind that of v
};

/// How a block takes tiles: one a thread, from shared memory where that holds them.
struct TileLaunch {
    TileGrid grid;
    unsigned tiles_per_block;
    int staged_stride;  // floats from tile to tile in shared memory, odd; 0: tiles stay where they are
};

struct ScoreLaunch {
    TileGrid grid;
    int radius;
    float wide[most_detect_radius + 1], squared[most_detect_radius + 1], narrow[4];
};

/// Where a frame's spots are written: ROIs of `size` px around them.
struct SpotLaunch {
    int size;
    unsigned capacity;  // of a frame's list of maxima
    unsigned first, count;
};

/// Rows of the frame that a thread keeps in registers, and the columns that a block of detect_threads scores.
constexpr int score_columns(int radius) { return int(detect_threads) - 2 * radius; }
constexpr int uniform_score_rows = 16, weighted_score_rows = 8;

/// Words of 32 columns in a row of the map of maxima, and those that a frame can have: no two of them touch.
constexpr unsigned mark_words(int width) { return unsigned(width + 31) / 32; }
constexpr unsigned most_maxima(int width, int height) { return unsigned((width + 1) / 2) * unsigned((height + 1) / 2); }

}  // namespace glint
