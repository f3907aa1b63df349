// Encodes bytes.
// SPDX-License-Identifier: MIT
#include "report/base64.hpp"

#include <zlib.h>

#include <new>

namespace glint {

std::string base64(std::span<const std::uint8_t> bytes) {
    static constexpr char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string text((bytes.size() + 2) / 3 * 4, '=');
    char* to = text.data();
    std::size_t k = 0;
    for (; k + 3 <= bytes.size(); k += 3, to += 4) {
        const std::uint32_t three =
            std::uint32_t(bytes[k]) << 16 | std::uint32_t(bytes[k + 1]) << 8 | std::uint32_t(bytes[k + 2]);
        to[0] = letters[three >> 18], to[1] = letters[three >> 12 & 63], to[2] = letters[three >> 6 & 63],
        to[3] = letters[three & 63];
    }
    if (k == bytes.size()) return text;
    const bool has_two = k + 2 == bytes.size();
    const std::uint32_t rest = std::uint32_t(bytes[k]) << 16 | (has_two ? std::uint32_t(bytes[k + 1]) << 8 : 0);
    to[0] = letters[rest >> 18], to[1] = letters[rest >> 12 & 63];
    if (has_two) to[2] = letters[rest >> 6 & 63];
    return text;
}

struct ColumnDeflater::Stream {
    z_stream z{};
};

ColumnDeflater::ColumnDeflater() : stream_(new Stream) {
    // Columns of noise contain no repetitions but runs: Z_RLE finds these, at several times the speed of a full search.
    constexpr int level = 6, window_bits = 15, memory = 9;
    if (deflateInit2(&stream_->z, level, Z_DEFLATED, window_bits, memory, Z_RLE) != Z_OK) {
        delete stream_;
        throw std::bad_alloc();
    }
}

ColumnDeflater::~ColumnDeflater() {
    deflateEnd(&stream_->z);
    delete stream_;
}

void ColumnDeflater::deflate_all(int flush) {
    constexpr std::size_t chunk = std::size_t(1) << 16;
    z_stream& z = stream_->z;
    do {
        const std::size_t before = out_.size();
        out_.resize(before + chunk);
        z.next_out = out_.data() + before, z.avail_out = uInt(chunk);
        deflate(&z, flush);
        out_.resize(before + chunk - z.avail_out);
    } while (z.avail_out == 0);
}

void ColumnDeflater::append(std::span<const std::uint8_t> column) {
    stream_->z.next_in = const_cast<Bytef*>(column.data()), stream_->z.avail_in = uInt(column.size());
    deflate_all(Z_BLOCK);
}

std::vector<std::uint8_t> ColumnDeflater::take() {
    deflate_all(Z_FINISH);
    return std::move(out_);
}

}  // namespace glint
