// Common to all work on a stream: growing memory, and a clean end after errors.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "glint/gpu/stream.hpp"

namespace glint {

/// Returns a size larger than needed now. The number of spots varies from call to call, and a slightly larger number
/// then needs no new allocation.
constexpr std::size_t grown(std::size_t size) { return size + size / 4; }

/// Makes room for n elements in a gpu::Buffer or gpu::Pinned of that owner. Frees the old memory before it allocates
/// new memory, so that both never coexist.
template <class Memory, class Owner>
void grow(Memory& memory, std::size_t n, const Owner& owner) {
    if (memory.size() < n) memory = {}, memory = Memory(owner, grown(n));
}

/// Waits, so that no copy of a failed call still uses its memory.
inline void settle(const gpu::Stream& stream) noexcept {
    try {
        stream.synchronize();
    } catch (...) {  // the error that led here is already being reported
    }
}

}  // namespace glint
