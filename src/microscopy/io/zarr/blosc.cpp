// Unpacks Blosc buffers (README_CHUNK_FORMAT of c-blosc 1): blocks, each of one stream or one a byte of the type, then unshuffled.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "io/bytes_reader.hpp"
#include "io/unpack.hpp"

namespace glint::zarr {
namespace {

using In = std::span<const std::byte>;
using Out = std::span<std::byte>;

constexpr std::size_t head_bytes = 16, most_splits = 16, least_split_values = 128;
enum Flag : unsigned { shuffled = 1, copied = 2, bit_shuffled = 4, whole = 16 };

struct Head {
    unsigned flags = 0;
    std::size_t type_bytes = 1, bytes = 0, block_bytes = 0;

    unsigned codec() const { return flags >> 5; }
};

Head read_head(In packed, std::size_t expected) {
    BytesReader reader(packed);
    reader.take(2);
    Head head;
    head.flags = reader.number<std::uint8_t>();
    head.type_bytes = std::max<std::size_t>(reader.number<std::uint8_t>(), 1);
    head.bytes = reader.number<std::uint32_t>();
    head.block_bytes = reader.number<std::uint32_t>();
    reader.take(4);
    if (head.bytes != expected)
        throw std::runtime_error(fmt::format("it unpacks to {} bytes, not {}", head.bytes, expected));
    if (head.block_bytes == 0) throw std::runtime_error("its blocks are empty");
    head.block_bytes = std::min(head.block_bytes, std::max<std::size_t>(head.bytes, 1));
    return head;
}

void unpack_stream(unsigned codec, In packed, Out out) {
    switch (codec) {
        case 1: return unpack_lz4(packed, out);
        case 3: return inflate_into(packed, out);
        case 4: return unpack_zstd(packed, out);
        default:
            throw std::runtime_error(
                fmt::format("it is compressed by {} in Blosc, which is not read: write it with lz4, zlib or zstd",
                            codec == 0   ? "blosclz"
                            : codec == 2 ? "snappy"
                                         : "an unknown codec"));
    }
}

void unshuffle(In from, std::size_t type_bytes, Out to) {
    const std::size_t values = from.size() / type_bytes;
    for (std::size_t b = 0; b < type_bytes; ++b)
        for (std::size_t k = 0; k < values; ++k) to[k * type_bytes + b] = from[b * values + k];
    std::copy(from.begin() + std::ptrdiff_t(values * type_bytes), from.end(),
              to.begin() + std::ptrdiff_t(values * type_bytes));
}

// Row (8 b + i) holds bit i of byte b of all values. Only whole eights of values are shuffled.
void unshuffle_bits(In from, std::size_t type_bytes, Out to) {
    const std::size_t values = from.size() / type_bytes, row = values / 8;
    std::copy(from.begin(), from.end(), to.begin());
    if (values % 8 != 0) return;
    std::fill_n(to.begin(), values * type_bytes, std::byte{});
    for (std::size_t bit = 0; bit < 8 * type_bytes; ++bit)
        for (std::size_t k = 0; k < values; ++k) {
            const auto set = (from[bit * row + k / 8] >> (k % 8)) & std::byte{1};
            to[k * type_bytes + bit / 8] |= set << (bit % 8);
        }
}

void unpack_block(const Head& head, In packed, bool is_last_part, Out out, std::vector<std::byte>& scratch) {
    const bool is_split = !(head.flags & whole) && head.type_bytes <= most_splits && !is_last_part &&
                          head.block_bytes / head.type_bytes >= least_split_values;
    const std::size_t splits = is_split ? head.type_bytes : 1, part = out.size() / splits;
    const bool is_shuffled = (head.flags & shuffled) && head.type_bytes > 1;
    const bool is_bit_shuffled = (head.flags & bit_shuffled) && out.size() >= head.type_bytes;
    scratch.resize(out.size());
    const Out to = is_shuffled || is_bit_shuffled ? Out(scratch) : out;
    BytesReader reader(packed);
    for (std::size_t k = 0; k < splits; ++k) {
        const In stream = reader.take(reader.number<std::uint32_t>());
        const Out split = to.subspan(k * part, k + 1 == splits ? to.size() - k * part : part);
        if (stream.size() == split.size())
            std::copy(stream.begin(), stream.end(), split.begin());
        else
            unpack_stream(head.codec(), stream, split);
    }
    if (is_shuffled)
        unshuffle(to, head.type_bytes, out);
    else if (is_bit_shuffled)
        unshuffle_bits(to, head.type_bytes, out);
}

[[noreturn]] void damaged() { throw std::runtime_error("its LZ4 data are damaged"); }

/// A length of 15 goes on in further bytes.
std::size_t lz4_length(BytesReader& reader, std::size_t length) {
    if (length < 15) return length;
    for (unsigned more = 255; more == 255;) length += more = reader.number<std::uint8_t>();
    return length;
}

}  // namespace

void unpack_lz4(In packed, Out out) {
    BytesReader reader(packed);
    std::size_t done = 0;
    while (reader.left() > 0) {
        const unsigned token = reader.number<std::uint8_t>();
        const std::size_t literals = lz4_length(reader, token >> 4);
        if (literals > out.size() - done) damaged();
        const In copy = reader.take(literals);
        std::copy(copy.begin(), copy.end(), out.begin() + std::ptrdiff_t(done));
        done += literals;
        if (reader.left() == 0) break;  // the last sequence has literals alone
        const std::size_t back = reader.number<std::uint16_t>(), count = 4 + lz4_length(reader, token & 15);
        if (back == 0 || back > done || count > out.size() - done) damaged();
        for (std::size_t k = 0; k < count; ++k, ++done) out[done] = out[done - back];  // may overlap
    }
    if (done != out.size()) throw std::runtime_error(fmt::format("it unpacks to {} bytes, not {}", done, out.size()));
}

void unpack_blosc(In packed, Out out) {
    const Head head = read_head(packed, out.size());
    if (head.flags & copied) {
        if (packed.size() < head_bytes + out.size()) throw std::runtime_error("it ends too early");
        std::copy_n(packed.begin() + head_bytes, out.size(), out.begin());
        return;
    }
    BytesReader places(packed.subspan(head_bytes));
    std::vector<std::byte> scratch;
    for (std::size_t at = 0; at < out.size(); at += head.block_bytes) {
        const std::size_t begin = places.number<std::uint32_t>();
        if (begin > packed.size()) throw std::runtime_error("a block lies beyond its end");
        const std::size_t bytes = std::min(head.block_bytes, out.size() - at);
        unpack_block(head, packed.subspan(begin), bytes < head.block_bytes, out.subspan(at, bytes), scratch);
    }
}

}  // namespace glint::zarr
