// Structs and constants shared by the kernels (elementwise.cu, axes.cu, random.cu) and their launches.
// SPDX-License-Identifier: MIT
#pragma once

namespace glint::arrays {

/// For map and reduce: a block works on tiles of this many elements, each thread on elements that are a block apart.
constexpr unsigned map_threads = 256, map_elements = 4, map_tile = map_threads * map_elements;
/// A block of reduce adds up its threads' results to this many.
constexpr unsigned reduce_partials = 8;
/// For transpose: a block computes a square of this side.
constexpr unsigned transpose_side = 32, transpose_threads = 256;

/// Shared memory of a block of map and reduce: the registers of a Program, and one result per thread.
template <class T>
constexpr unsigned map_shared_bytes(int registers) {
    return unsigned(registers) * map_tile * unsigned(sizeof(T));
}
template <class T>
constexpr unsigned reduce_shared_bytes(int registers) {
    return map_shared_bytes<T>(registers) + map_threads * unsigned(sizeof(double));
}

/// For copy: a block copies tiles of this many elements, each thread elements that are a block apart.
constexpr unsigned copy_threads = 256, copies_each = 4, copy_tile = copy_threads * copies_each;

constexpr int max_copy_dimensions = 8;

/// Where the elements of a copy are, outermost dimension first; distances in elements.
struct CopyLayout {
    long long extent[max_copy_dimensions], from[max_copy_dimensions], to[max_copy_dimensions];
    int dimensions;
};

/// For reductions along the middle of three dimensions (outer, n, inner). Each of `outputs` = outer * chunks * inner
/// results covers `chunk` elements along the axis, or the rest of it.
struct Axis {
    long long n, inner, chunks, chunk, outputs;
};

/// A block computes 256 / lanes results, each with `lanes` threads. Neighbouring threads read neighbouring elements,
/// along the axis if there are few neighbouring results.
constexpr unsigned axis_threads = 256;
constexpr unsigned axis_lanes(long long inner) { return inner >= 32 ? 8 : 32; }
constexpr unsigned axis_shared_bytes = axis_threads * 2 * 8;  // a value and a position for each thread

constexpr unsigned random_threads = 256;

}  // namespace glint::arrays
