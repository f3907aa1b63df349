// Iterates over several arrays of the same shape, in few and long strided runs.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>

#include "glint/arrays/array.hpp"

namespace glint::arrays::cpu {

/// Numbers the elements of arrays of one shape from 0 to count - 1. The same element has the same number in all arrays.
/// Dimensions are used in the order of the first array's strides, and merged if no array has a gap between them. So
/// arrays without gaps, and arrays with the same transposition, have one dimension.
struct Walk {
    static constexpr int max_arrays = 7;
    std::int64_t extent[max_dimensions], count = 1;
    std::int64_t apart[max_arrays][max_dimensions];
    int dimensions = 0, arrays = 0;

    Walk(const Shape& shape, std::span<const Strides* const> strides) : arrays(int(strides.size())) {
        count = shape.count();
        int order[max_dimensions], n = 0;
        for (int k = 0; k < shape.dimensions; ++k)
            if (shape[k] > 1) order[n++] = k;
        if (arrays > 0)
            std::stable_sort(order, order + n,
                             [&](int a, int b) { return std::abs((*strides[0])[a]) > std::abs((*strides[0])[b]); });
        for (int i = 0; i < n; ++i) {
            const std::int64_t here = shape[order[i]];
            bool merge = dimensions > 0;
            for (int a = 0; merge && a < arrays; ++a)
                merge = apart[a][dimensions - 1] == (*strides[a])[order[i]] * here;
            if (!merge) extent[dimensions++] = 1;
            extent[dimensions - 1] *= here;
            for (int a = 0; a < arrays; ++a) apart[a][dimensions - 1] = (*strides[a])[order[i]];
        }
        if (dimensions > 0) return;
        dimensions = 1, extent[0] = 1;
        for (int a = 0; a < arrays; ++a) apart[a][0] = 1;
    }

    bool contiguous(int array) const { return dimensions == 1 && apart[array][0] == 1; }

    /// Calls run(at, offset, apart, n) for elements first to first + n - 1 of an array: the `n` elements from `offset`
    /// on, with distance `apart`, have the numbers `at` and following.
    template <class Run>
    void for_each_run(int array, std::int64_t first, std::int64_t n, const Run& run) const {
        std::int64_t index[max_dimensions], offset = 0;
        for (int k = dimensions - 1; k >= 0; --k) {
            index[k] = first % extent[k];
            first /= extent[k];
            offset += index[k] * apart[array][k];
        }
        const int inner = dimensions - 1;
        for (std::int64_t at = 0; at < n;) {
            const std::int64_t length = std::min(n - at, extent[inner] - index[inner]);
            run(at, offset, apart[array][inner], length);
            at += length;
            index[inner] += length;
            offset += length * apart[array][inner];
            for (int k = inner; k > 0 && index[k] == extent[k]; --k) {
                offset += apart[array][k - 1] - extent[k] * apart[array][k];
                index[k] = 0;
                ++index[k - 1];
            }
        }
    }
};

}  // namespace glint::arrays::cpu
