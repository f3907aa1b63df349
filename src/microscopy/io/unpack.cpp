// Calls of zlib and libzstd.
// SPDX-License-Identifier: MIT
#include "io/unpack.hpp"

#include <fmt/format.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <limits>
#include <new>
#include <stdexcept>

namespace glint {

void unpack_zstd(std::span<const std::byte> packed, std::span<std::byte> out) {
    const std::size_t bytes = ZSTD_decompress(out.data(), out.size(), packed.data(), packed.size());
    if (ZSTD_isError(bytes))
        throw std::runtime_error(fmt::format("its compressed data are damaged ({})", ZSTD_getErrorName(bytes)));
    if (bytes != out.size()) throw std::runtime_error(fmt::format("it unpacks to {} bytes, not {}", bytes, out.size()));
}

namespace {

constexpr int zlib_or_gzip = 32 + MAX_WBITS;

/// One stream, closed by its owner.
class Inflater {
  public:
    explicit Inflater(std::span<const std::byte> packed) : packed_(packed) {
        if (inflateInit2(&stream_, zlib_or_gzip) != Z_OK) throw std::bad_alloc();
    }
    ~Inflater() { inflateEnd(&stream_); }
    Inflater(const Inflater&) = delete;
    Inflater& operator=(const Inflater&) = delete;

    bool ended() const { return ended_; }
    /// Fills `out` until the stream ends. Returns the number of bytes.
    std::size_t fill(std::span<std::byte> out);

  private:
    static unsigned part(std::size_t bytes) {
        return unsigned(std::min<std::size_t>(bytes, std::numeric_limits<unsigned>::max() / 2));
    }

    std::span<const std::byte> packed_;
    z_stream stream_{};
    bool ended_ = false;
};

std::size_t Inflater::fill(std::span<std::byte> out) {
    std::size_t done = 0;
    while (!ended_ && done < out.size()) {
        stream_.next_in = reinterpret_cast<unsigned char*>(const_cast<std::byte*>(packed_.data()));  // only read
        stream_.next_out = reinterpret_cast<unsigned char*>(out.data() + done);
        const unsigned in = part(packed_.size()), room = part(out.size() - done);
        stream_.avail_in = in, stream_.avail_out = room;
        const int result = inflate(&stream_, Z_NO_FLUSH);
        packed_ = packed_.subspan(in - stream_.avail_in);
        done += room - stream_.avail_out;
        ended_ = result == Z_STREAM_END;
        if (result == Z_MEM_ERROR) throw std::bad_alloc();
        if (result != Z_OK && !ended_) throw std::runtime_error("its compressed data are damaged");
    }
    return done;
}

}  // namespace

void inflate_into(std::span<const std::byte> packed, std::span<std::byte> out) {
    Inflater inflater(packed);
    const std::size_t bytes = inflater.fill(out);
    std::byte beyond;
    if (bytes == out.size() && (inflater.ended() || inflater.fill({&beyond, 1}) == 0)) return;
    throw std::runtime_error(fmt::format("it unpacks to {} bytes, not {}",
                                         bytes < out.size() ? fmt::format("{}", bytes) : "more", out.size()));
}

std::vector<std::byte> inflated(std::span<const std::byte> packed, std::size_t most) {
    Inflater inflater(packed);
    std::vector<std::byte> out;
    constexpr std::size_t piece = 1 << 16;
    while (!inflater.ended()) {
        const std::size_t begin = out.size();
        if (begin >= most) throw std::runtime_error(fmt::format("it unpacks to more than {} bytes", most));
        out.resize(begin + std::min(piece, most - begin));
        out.resize(begin + inflater.fill(std::span(out).subspan(begin)));
    }
    return out;
}

}  // namespace glint
