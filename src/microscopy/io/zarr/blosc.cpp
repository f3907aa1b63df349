// Unpacks buffers of Blosc 1 and of LZ4 with their libraries, after checking that the stated sizes are possible.
// SPDX-License-Identifier: MIT
#include <blosc.h>
#include <fmt/format.h>
#include <lz4.h>

#include <limits>
#include <stdexcept>

#include "io/unpack.hpp"

namespace glint::zarr {
namespace {

using In = std::span<const std::byte>;
using Out = std::span<std::byte>;

void require_length(std::size_t bytes, Out out) {
    if (bytes != out.size()) throw std::runtime_error(fmt::format("it unpacks to {} bytes, not {}", bytes, out.size()));
}

}  // namespace

void unpack_lz4(In packed, Out out) {
    constexpr auto most = std::size_t(std::numeric_limits<int>::max());
    if (packed.size() > most || out.size() > most) throw std::runtime_error("its LZ4 data have more than 2 GiB");
    const int bytes = LZ4_decompress_safe(reinterpret_cast<const char*>(packed.data()),
                                          reinterpret_cast<char*>(out.data()), int(packed.size()), int(out.size()));
    if (bytes < 0) throw std::runtime_error("its LZ4 data are damaged");
    require_length(std::size_t(bytes), out);
}

void unpack_blosc(In packed, Out out) {
    if (packed.size() < BLOSC_MIN_HEADER_LENGTH) throw std::runtime_error("it ends too early");
    std::size_t bytes = 0, packed_bytes = 0, block_bytes = 0;
    blosc_cbuffer_sizes(packed.data(), &bytes, &packed_bytes, &block_bytes);
    require_length(bytes, out);
    if (packed_bytes > packed.size()) throw std::runtime_error("it ends too early");
    // The library reads the buffer's length from its header.
    if (blosc_cbuffer_validate(packed.data(), packed_bytes, &bytes) < 0)
        throw std::runtime_error("its Blosc data are damaged");
    if (blosc_decompress_ctx(packed.data(), out.data(), out.size(), 1) == int(out.size())) return;
    const char* codec = blosc_cbuffer_complib(packed.data());
    throw std::runtime_error(
        fmt::format("its Blosc data, of the codec {}, are damaged, or libblosc was built without that codec",
                    codec ? codec : "with an unknown number"));
}

}  // namespace glint::zarr
