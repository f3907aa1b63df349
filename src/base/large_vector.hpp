// Vectors of many megabytes, in large pages of memory.
// SPDX-License-Identifier: MIT
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace glint {

/// As values.resize(count). The kernel is asked for pages of 2 MiB, where it has them: it gives a hundred megabytes in 4 KiB each in
/// tens of milliseconds, while all other threads wait for this one.
template <class T>
void resize_large(std::vector<T>& values, std::size_t count) {
    constexpr std::uintptr_t page = 2 << 20;
    values.reserve(count);
    const auto begin = reinterpret_cast<std::uintptr_t>(values.data()), end = begin + count * sizeof(T);
    const std::uintptr_t first = (begin + page - 1) / page * page, last = end / page * page;
    if (first < last) madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);  // refused: small pages
    values.resize(count);
}

}  // namespace glint
