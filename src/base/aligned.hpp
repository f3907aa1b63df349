// Floats aligned to a cache line: unaligned loads of 64-byte SIMD registers access two lines each.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace glint {

template <class T>
struct CacheLineAllocator {
    using value_type = T;
    static constexpr std::align_val_t line{64};

    CacheLineAllocator() = default;
    template <class Other>
    CacheLineAllocator(const CacheLineAllocator<Other>&) {}

    T* allocate(std::size_t n) { return static_cast<T*>(::operator new(n * sizeof(T), line)); }
    void deallocate(T* at, std::size_t) { ::operator delete(at, line); }
    friend bool operator==(CacheLineAllocator, CacheLineAllocator) { return true; }
};

using AlignedFloats = std::vector<float, CacheLineAllocator<float>>;

}  // namespace glint
