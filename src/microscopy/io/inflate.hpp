// Data packed by zlib or gzip, unpacked into as many bytes as they must be.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace glint {

/// Fills `out` from a zlib or gzip stream, whichever it is. Throws std::runtime_error with the bare reason: damaged, or of another
/// length.
void inflate_into(std::span<const std::byte> packed, std::span<std::byte> out);

/// Unpacks a stream of unknown length, up to `most` bytes. Throws as above.
std::vector<std::byte> inflated(std::span<const std::byte> packed, std::size_t most);

}  // namespace glint
