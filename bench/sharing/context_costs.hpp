// The time and memory that a context takes, measured on one H200 (driver 580, CUDA 13.0).
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace glint::sharing {

constexpr std::uint64_t context_bytes = std::uint64_t(527) << 20;
constexpr int most_contexts = 101;  ///< on a GPU
constexpr double context_end_s = 0.05;

/// Seconds to create one of `at_once` contexts that are created concurrently on a GPU where `alive` others exist.
double context_creation_s(int alive, int at_once);

/// On an empty GPU.
inline double min_creation_s() { return context_creation_s(0, 1); }

}  // namespace glint::sharing
