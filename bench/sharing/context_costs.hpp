// The time and memory that a context costs, measured on one H200 (driver 580, CUDA 13.0).
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace glint::sharing {

constexpr std::uint64_t context_bytes = std::uint64_t(527) << 20;
constexpr int max_contexts = 101;  ///< on a GPU
constexpr double context_end_s = 0.05;

/// A measurement.
struct CreationTime {
    double count, seconds;
};
// Range of the measurements: 0.11 to 0.22 s for one process, 22 to 35 s each for 128 processes that start
// simultaneously.
inline constexpr CreationTime creation_one_by_one[] = {{0, 0.165}, {16, 0.25}, {32, 0.37}, {96, 0.82}};
inline constexpr CreationTime creation_all_at_once[] = {{1, 0.165}, {8, 0.9}, {32, 5.0}, {128, 28.5}};

/// Interpolates linearly; extrapolates linearly beyond the last point.
template <std::size_t N>
double interpolated(const CreationTime (&points)[N], double count) {
    std::size_t k = 1;
    while (k + 1 < N && points[k].count < count) ++k;
    const CreationTime &a = points[k - 1], &b = points[k];
    return a.seconds + (count - a.count) * (b.seconds - a.seconds) / (b.count - a.count);
}

/// Returns the seconds to create one of `at_once` contexts that are created concurrently on a GPU with `alive` existing
/// contexts.
inline double context_creation_s(int alive, int at_once) {
    return std::max(interpolated(creation_one_by_one, alive), interpolated(creation_all_at_once, at_once));
}

/// Returns the seconds to create a context on an empty GPU.
inline double min_creation_s() { return context_creation_s(0, 1); }

}  // namespace glint::sharing
