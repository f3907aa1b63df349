// Unpacks data packed by zlib, gzip, Zstandard or Blosc to an expected number of bytes.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace glint {

/// Fills `out` from a zlib or gzip stream, whichever it is. Throws std::runtime_error with the bare reason if it is
/// damaged or of another length.
void inflate_into(std::span<const std::byte> packed, std::span<std::byte> out);

/// Unpacks a stream of unknown length, up to `most` bytes. Throws as above.
std::vector<std::byte> inflated(std::span<const std::byte> packed, std::size_t most);

/// Fills `out`. Throws std::runtime_error with the bare reason: damaged, or of another length.
void unpack_zstd(std::span<const std::byte> packed, std::span<std::byte> out);

}  // namespace glint

namespace glint::zarr {

/// Unpacks a buffer of Blosc 1, a common container of Zarr's chunks. The inner codec is LZ4, zlib or Zstandard,
/// with or without (bit) shuffle. Throws std::runtime_error with the bare reason for damage, another length than
/// `out` or other codecs.
void unpack_blosc(std::span<const std::byte> packed, std::span<std::byte> out);

/// Unpacks one LZ4 block. Throws as above.
void unpack_lz4(std::span<const std::byte> packed, std::span<std::byte> out);

}  // namespace glint::zarr
