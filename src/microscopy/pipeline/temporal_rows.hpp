// Inner loops of temporal means over one row of pixels in all frames of a sample, compiled once per instruction set
// (base/isa.hpp).
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "base/isa.hpp"

namespace glint {

/// Row widths are padded to a multiple of this, px. Values beyond the frame's width are 0.
constexpr int row_step = 64;

/// One row of pixels in `frames` frames, which are `stride` floats apart. `width`: a multiple of row_step.
struct RowOfFrames {
    const float* values;
    long stride;
    int width, frames;
};

/// Means of a row, `width` values each. `plain` and `unsteady` cover all pixels; the other means are 0 for unsteady
/// pixels.
struct RowMeans {
    float *all, *even, *odd, *early, *late, *plain;
    std::uint8_t* unsteady;
};

// clang-format off
GLINT_PER_ISA(
/// Finds each pixel's limit above which it is brighter than its low level (5.8), starting from its lowest values. Per
/// pixel, `shot` is the light of one photoelectron, and `read` the read variance.
void find_row_limits(const RowOfFrames& row, const float* shot, const float* read, float* limits);
/// Marks pixels above their limits, and pixels up to `reach` px beside them. `padded` has 2 * reach bytes more than the
/// row.
void mark_bright(const float* values, const float* limits, int width, int reach, std::uint8_t* padded,
                 std::uint8_t* marks);
/// Adds the marks to `to`.
void unite_marks(const std::uint8_t* marks, int width, std::uint8_t* to);
/// Computes means of the unmarked values. The marks of frames are `marks_stride` bytes apart. `level_of_half`: sums of
/// the levels in the first and the second half of the frames, by which the means of the halves are scaled back.
void take_row_means(const RowOfFrames& row, const std::uint8_t* marks, long marks_stride, const float* level_of_half,
                    const RowMeans& to);
)
// clang-format on

}  // namespace glint
