// Structs and constants shared by the kernels of axes.cu and their launches.
// SPDX-License-Identifier: MIT
#pragma once

namespace glint::arrays {

/// Of copy: a block copies tiles of so many elements, each thread those that are a block apart.
constexpr unsigned copy_threads = 256, copies_each = 4, copy_tile = copy_threads * copies_each;

constexpr int max_copy_dimensions = 8;

/// Where the elements of a copy are, outermost dimension first; distances in elements.
struct CopyLayout {
    long long extent[max_copy_dimensions], from[max_copy_dimensions], to[max_copy_dimensions];
    int dimensions;
};

/// Of reductions along the middle of three dimensions (outer, n, inner). Each of `outputs` = outer * chunks * inner
/// results is of `chunk` elements along the axis, or of what is left of it.
struct Axis {
    long long n, inner, chunks, chunk, outputs;
};

/// A block makes 256 / lanes results, each by so many threads: neighbours read neighbouring elements, along the axis where
/// there are few others beside it.
constexpr unsigned axis_threads = 256;
constexpr unsigned axis_lanes(long long inner) { return inner >= 32 ? 8 : 32; }
constexpr unsigned axis_shared_bytes = axis_threads * 2 * 8;  // a value and a position for each thread

}  // namespace glint::arrays
