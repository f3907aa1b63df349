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
/// Asks the kernel for large pages where whole ones fit, for memory that is not touched yet; which these are. Refused, or not known
/// to the kernel: small pages.
inline LargePages ask_for_large_pages(const void* memory, std::size_t bytes) {
    const auto begin = reinterpret_cast<std::uintptr_t>(memory);
    const LargePages pages{(begin + large_page - 1) / large_page * large_page,
                           (begin + bytes) / large_page * large_page};
    if (pages.first < pages.end) madvise(reinterpret_cast<void*>(pages.first), pages.end - pages.first, MADV_HUGEPAGE);
    return pages;
}

/// Uninitialised: the kernel gives pages to whoever writes first, on any thread.
inline std::unique_ptr<std::byte[]> large_bytes(std::size_t count) {
    std::unique_ptr<std::byte[]> bytes(new std::byte[count]);
    ask_for_large_pages(bytes.get(), count);
    return bytes;
}

/// As values.resize(count). The kernel is asked for pages of 2 MiB, where it has them, and for all of them at once by all threads: it
/// gives a hundred megabytes in 4 KiB each in tens of milliseconds, while all other threads wait for this one.
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
