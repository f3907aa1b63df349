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

constexpr std::uintptr_t large_page = 2 << 20;

struct LargePages {
    std::uintptr_t first, end;
};
/// Requests large pages for untouched memory, and returns the range that complete large pages fill. If the kernel
/// refuses or does not support large pages, the pages stay small.
inline LargePages ask_for_large_pages(const void* memory, std::size_t bytes) {
    const auto begin = reinterpret_cast<std::uintptr_t>(memory);
    const LargePages pages{(begin + large_page - 1) / large_page * large_page,
                           (begin + bytes) / large_page * large_page};
    if (pages.first < pages.end) madvise(reinterpret_cast<void*>(pages.first), pages.end - pages.first, MADV_HUGEPAGE);
    return pages;
}

/// Returns uninitialised memory. The kernel assigns pages to the first thread that writes to them.
inline std::unique_ptr<std::byte[]> large_bytes(std::size_t count) {
    std::unique_ptr<std::byte[]> bytes(new std::byte[count]);
    ask_for_large_pages(bytes.get(), count);
    return bytes;
}

/// Like values.resize(count), with pages of 2 MiB if the kernel supports them, which all threads touch in parallel.
/// With 4 KiB pages, one thread needs tens of milliseconds for a hundred megabytes, while all other threads wait.
template <class T>
void resize_large(std::vector<T>& values, std::size_t count) {
    constexpr std::uintptr_t worth_threads = 4 * large_page;
    const bool is_new = count > values.capacity();
    values.reserve(count);
    if (is_new) {
        const LargePages pages = ask_for_large_pages(values.data(), count * sizeof(T));
        constexpr int populate_write = 23;  // MADV_POPULATE_WRITE, which older headers do not have
        const auto populate = [](std::uintptr_t at) {
            madvise(reinterpret_cast<void*>(at), large_page, populate_write);
        };
        if (pages.first + worth_threads <= pages.end)
            in_own_arena([&] { tbb::parallel_for(pages.first, pages.end, large_page, populate); });
    }
    values.resize(count);
}

}  // namespace glint
