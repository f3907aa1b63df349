// Many megabytes of memory, in large pages.
// SPDX-License-Identifier: MIT
#pragma once

#include <sys/mman.h>
#include <tbb/parallel_for.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/arena.hpp"

namespace glint {

/// Uninitialised: whoever writes first, on any thread, gets the pages from the kernel, of 2 MiB each where it has them.
inline std::unique_ptr<std::byte[]> large_bytes(std::size_t count) {
    constexpr std::uintptr_t page = 2 << 20;
    std::unique_ptr<std::byte[]> bytes(new std::byte[count]);
    const auto begin = reinterpret_cast<std::uintptr_t>(bytes.get());
    const std::uintptr_t first = (begin + page - 1) / page * page, last = (begin + count) / page * page;
    if (first < last) madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
    return bytes;
}

/// As values.resize(count). The kernel is asked for pages of 2 MiB, where it has them, and for all of them at once by all threads: it
/// gives a hundred megabytes in 4 KiB each in tens of milliseconds, while all other threads wait for this one.
template <class T>
void resize_large(std::vector<T>& values, std::size_t count) {
    constexpr std::uintptr_t page = 2 << 20, worth_threads = 4 * page;
    const bool is_new = count > values.capacity();
    values.reserve(count);
    const auto begin = reinterpret_cast<std::uintptr_t>(values.data()), end = begin + count * sizeof(T);
    const std::uintptr_t first = (begin + page - 1) / page * page, last = end / page * page;
    if (is_new && first < last) {  // refused, or not known to the kernel: small pages, when they are touched
        madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
        constexpr int populate_write = 23;  // MADV_POPULATE_WRITE, which older headers do not have
        const auto populate = [](std::uintptr_t at) { madvise(reinterpret_cast<void*>(at), page, populate_write); };
        if (last - first >= worth_threads) in_own_arena([&] { tbb::parallel_for(first, last, page, populate); });
    }
    values.resize(count);
}

}  // namespace glint
