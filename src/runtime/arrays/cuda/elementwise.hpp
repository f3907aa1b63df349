// Constants shared by the kernels of elementwise.cu and their launches.
// SPDX-License-Identifier: MIT
#pragma once

namespace glint::arrays {

/// Of map and reduce: a block works on tiles of so many elements, each thread on those that are a block apart.
constexpr unsigned map_threads = 256, map_elements = 4, map_tile = map_threads * map_elements;
/// A block of reduce adds up its threads' results to so many.
constexpr unsigned reduce_partials = 8;
/// Of transpose: a block does a square of this side.
constexpr unsigned transpose_side = 32, transpose_threads = 256;

/// Shared memory of a block of map and reduce: a Program's registers, and each thread's result.
template <class T>
constexpr unsigned map_shared_bytes(int registers) {
    return unsigned(registers) * map_tile * unsigned(sizeof(T));
}
template <class T>
constexpr unsigned reduce_shared_bytes(int registers) {
    return map_shared_bytes<T>(registers) + map_threads * unsigned(sizeof(double));
}

}  // namespace glint::arrays
