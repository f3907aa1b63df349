// The loops of temporal means over one row of pixels in all frames of a sample, compiled once per instruction set
// (base/isa.hpp).
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "base/isa.hpp"

namespace glint {

/// Rows are padded to a multiple of this, px. Values beyond the row's width are 0.
constexpr int row_step = 64;

/// One row of pixels in `frames` frames, which are `stride` floats apart. `width`: a multiple of row_step.
struct RowOfFrames {
    const float* values;
    long stride;
    int width, frames;
};

/// Means of a row, `width` values each, of pixels that are steady; 0 for others. `plain` and `unsteady`: of all pixels.
struct RowMeans {
    float *all, *even, *odd, *early, *late, *plain;
    std::uint8_t* unsteady;
};

// clang-format off
GLINT_PER_ISA(
/// What pixels do not exceed at their low level, as (5.8), which is found from their least values upwards. `shot`: of a
/// photoelectron, `read`: the read variance, of each pixel.
void find_row_limits(const RowOfFrames& row, const float* shot, const float* read, float* limits);
/// Marks pixels above their limits, and those up to `reach` px beside them. `padded` has 2 * reach bytes more than the
/// row.
void mark_bright(const float* values, const float* limits, int width, int reach, std::uint8_t* padded, std::uint8_t* marks);
/// Adds marks to others.
void unite_marks(const std::uint8_t* marks, int width, std::uint8_t* to);
/// Means without what is marked; the marks of frames are `marks_stride` bytes apart. `level_of_half`: the sums of
/// the levels of the first and of the second half of the frames, with which their means are scaled back.
void take_row_means(const RowOfFrames& row, const std::uint8_t* marks, long marks_stride, const float* level_of_half,
                    const RowMeans& to);
)
// clang-format on

}  // namespace glint
