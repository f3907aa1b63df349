// Access to device memory that other libraries of this process allocated, in any context.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

namespace glint::gpu {

/// Copies device memory to the host; blocks until it is done. Throws GpuError.
void download_foreign(int ordinal, std::uint64_t from, void* to, std::size_t bytes);

/// Blocks until the default stream of the GPU's primary context is idle; the CUDA runtime of other libraries uses it.
void wait_for_default_stream(int ordinal);

}  // namespace glint::gpu
