// Page-locked host memory.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "gpu/context_state.hpp"

namespace glint::gpu::detail {

/// Allocates whole pages and page-locks them, if the system supports that. They become ordinary memory when the
/// context is released. Throws OutOfMemory or GpuError.
void* pin(ContextState& home, std::size_t bytes);
void unpin(ContextState& home, void* memory, std::size_t bytes) noexcept;

/// Whether the range is page-locked, by glint or by another library, so that the device can copy it directly.
bool is_pinned(const ContextState& home, const void* memory, std::size_t bytes);

}  // namespace glint::gpu::detail
