// Page-locked host memory.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "gpu/context_state.hpp"

namespace glint::gpu::detail {

/// Whole pages of our own, page-locked where the system allows; when the context goes they become ordinary memory.
void* pin(ContextState& home, std::size_t bytes);
void unpin(ContextState& home, void* memory, std::size_t bytes) noexcept;

/// Whether the device may copy from or to all of it without the driver's help, whoever page-locked it.
bool is_pinned(const ContextState& home, const void* memory, std::size_t bytes);

}  // namespace glint::gpu::detail
