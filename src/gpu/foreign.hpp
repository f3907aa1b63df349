// Memory of other libraries on a GPU, in whichever context of this process it was made.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

namespace glint::gpu {

/// Copies to the host, and waits until that is done. Throws GpuError.
void download_foreign(int ordinal, std::uint64_t from, void* to, std::size_t bytes);

/// Waits for what was put into the default stream of the GPU's primary context, which other libraries' runtimes use.
void wait_for_default_stream(int ordinal);

}  // namespace glint::gpu
