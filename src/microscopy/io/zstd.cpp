// Calls of libzstd.
// SPDX-License-Identifier: MIT
#include "io/zstd.hpp"

#include <fmt/format.h>
#include <zstd.h>

#include <stdexcept>

namespace glint {

void unpack_zstd(std::span<const std::byte> packed, std::span<std::byte> out) {
    const std::size_t bytes = ZSTD_decompress(out.data(), out.size(), packed.data(), packed.size());
    if (ZSTD_isError(bytes))
        throw std::runtime_error(fmt::format("its compressed data are damaged ({})", ZSTD_getErrorName(bytes)));
    if (bytes != out.size()) throw std::runtime_error(fmt::format("it unpacks to {} bytes, not {}", bytes, out.size()));
}

}  // namespace glint
