// Buffers of Blosc 1, the container in which Zarr's chunks are often compressed, and blocks of LZ4.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>

namespace glint::zarr {

/// Unpacks a Blosc buffer whose inner codec is LZ4, zlib or Zstandard, with or without (bit) shuffle. Throws std::runtime_error with the
/// bare reason: damaged, another length than `out`, other codecs.
void unpack_blosc(std::span<const std::byte> packed, std::span<std::byte> out);

/// One LZ4 block; throws as above.
void unpack_lz4(std::span<const std::byte> packed, std::span<std::byte> out);

}  // namespace glint::zarr
