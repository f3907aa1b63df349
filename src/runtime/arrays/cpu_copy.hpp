// Packs and unpacks strided arrays.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>

#include "glint/arrays/array.hpp"

namespace glint::arrays::cpu {

namespace detail {

/// Calls copy(place, offset) for each element, `place` in C order. Works in tiles, so that the cache lines of a
/// transposed matrix are used completely before they are evicted.
template <class Copy>
void for_each_element(const Shape& shape, const Strides& strides, const Copy& copy) {
    std::int64_t extent[max_dimensions], apart[max_dimensions];
    for (int k = 0, lead = max_dimensions - shape.dimensions; k < max_dimensions; ++k) {
        extent[k] = k < lead ? 1 : shape[k - lead];
        apart[k] = k < lead ? 0 : strides[k - lead];
    }
    constexpr std::int64_t tile = 16;
    std::int64_t first = 0;
    for (std::int64_t i = 0; i < extent[0]; ++i)
        for (std::int64_t j = 0; j < extent[1]; ++j, first += extent[2] * extent[3]) {
            const std::int64_t from = i * apart[0] + j * apart[1];
            const std::int64_t width = apart[3] == 1 ? extent[3] : tile;
            for (std::int64_t left = 0; left < extent[3]; left += width)
                for (std::int64_t y = 0; y < extent[2]; ++y)
                    for (std::int64_t x = left, end = std::min(left + width, extent[3]); x < end; ++x)
                        copy(first + y * extent[3] + x, from + y * apart[2] + x * apart[3]);
        }
}

}  // namespace detail

template <class T>
void gather(const View<const T>& from, T* to) {
    if (from.is_contiguous())
        std::copy_n(from.data, from.shape.count(), to);
    else
        detail::for_each_element(from.shape, from.strides,
                                 [&](std::int64_t place, std::int64_t offset) { to[place] = from.data[offset]; });
}

template <class T>
void scatter(const T* from, const View<T>& to) {
    if (to.is_contiguous())
        std::copy_n(from, to.shape.count(), to.data);
    else
        detail::for_each_element(to.shape, to.strides,
                                 [&](std::int64_t place, std::int64_t offset) { to.data[offset] = from[place]; });
}

}  // namespace glint::arrays::cpu
