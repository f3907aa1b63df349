// Data packed by Zstandard, unpacked into as many bytes as they must be.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>

namespace glint {

/// Fills `out`. Throws std::runtime_error with the bare reason: damaged, or of another length.
void unpack_zstd(std::span<const std::byte> packed, std::span<std::byte> out);

}  // namespace glint
