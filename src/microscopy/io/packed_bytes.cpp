// Unpacks parts of a zlib stream: from the nearest restart point that the first pass recorded, or from where a reader
// stopped.
// SPDX-License-Identifier: MIT
#include "io/packed_bytes.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <new>

#include "glint/error.hpp"

namespace glint {
namespace {

constexpr std::uint64_t step_bytes = std::uint64_t(4) << 20;  // between restart points
constexpr std::size_t window_bytes = 32768, chunk_bytes = 65536, max_idle = 16;
constexpr int zlib_header = 15, no_header = -15;  // the largest window, with and without a header

}  // namespace

/// A position between two blocks of the stream at which reading may begin. The first `bits` bits of its first byte
/// belong to the previous block.
struct PackedBytes::RestartPoint {
    std::uint64_t in = 0, out = 0;
    int bits = 0;
    std::vector<unsigned char> window;  ///< the bytes before it; none at the stream's beginning
};

/// Reads the stream sequentially.
class PackedBytes::Cursor {
  public:
    Cursor(const PackedBytes& of, const RestartPoint& place) : of_(of), in_(place.in), out_(place.out) {
        if (inflateInit2(&stream_, place.window.empty() ? zlib_header : no_header) != Z_OK) throw std::bad_alloc();
        if (place.window.empty()) return;
        if (place.bits) prime(place);
        inflateSetDictionary(&stream_, place.window.data(), uInt(place.window.size()));
    }
    ~Cursor() { inflateEnd(&stream_); }
    Cursor(const Cursor&) = delete;  // zlib's state points back to the stream
    Cursor& operator=(const Cursor&) = delete;

    std::uint64_t out() const { return out_; }
    /// Returns the position of the next byte in the stream.
    std::uint64_t in() const { return in_ - stream_.avail_in; }
    int bits() const { return stream_.data_type & 7; }
    bool is_between_blocks() const { return (stream_.data_type & 128) && !(stream_.data_type & 64); }

    /// Unpacks up to n bytes; with Z_BLOCK fewer, up to the end of a block. Returns 0 if the stream ends or is
    /// damaged.
    std::size_t read(std::byte* to, std::size_t n, int flush = Z_NO_FLUSH);
    bool ended() const { return ended_; }

  private:
    void prime(const RestartPoint& place) {
        std::byte first{};
        if (of_.file_.read_at(of_.offset_ + place.in - 1, &first, 1) == 1)
            inflatePrime(&stream_, place.bits, int(first) >> (8 - place.bits));
    }
    bool fill();

    const PackedBytes& of_;
    std::uint64_t in_, out_;
    z_stream stream_{};
    std::vector<std::byte> chunk_;
    bool ended_ = false;
};

bool PackedBytes::Cursor::fill() {
    if (in_ >= of_.packed_) return false;
    chunk_.resize(std::size_t(std::min<std::uint64_t>(chunk_bytes, of_.packed_ - in_)));
    const std::size_t got = of_.file_.read_at(of_.offset_ + in_, chunk_.data(), chunk_.size());
    in_ += got;
    stream_.next_in = reinterpret_cast<Bytef*>(chunk_.data());
    stream_.avail_in = uInt(got);
    return got > 0;
}

std::size_t PackedBytes::Cursor::read(std::byte* to, std::size_t n, int flush) {
    std::size_t done = 0;
    while (done < n && !ended_) {
        const bool starved = stream_.avail_in == 0 && !fill();
        const auto room = uInt(std::min<std::size_t>(n - done, 1 << 30));
        stream_.next_out = reinterpret_cast<Bytef*>(to + done);
        stream_.avail_out = room;
        const int status = inflate(&stream_, flush);
        const std::size_t got = room - stream_.avail_out;
        done += got;
        ended_ = (status != Z_OK && status != Z_BUF_ERROR) || (starved && got == 0);
        if (flush == Z_BLOCK && (stream_.data_type & 128)) break;
    }
    out_ += done;
    return done;
}

PackedBytes::PackedBytes(const std::filesystem::path& path, std::uint64_t offset, std::uint64_t packed,
                         std::uint64_t most)
    : file_(path), offset_(offset), packed_(packed) {
    note_places(most);
}

PackedBytes::~PackedBytes() = default;

void PackedBytes::note_places(std::uint64_t most) {
    places_.push_back({});
    Cursor cursor(*this, places_.front());
    std::vector<std::byte> window(window_bytes);  // a ring
    std::size_t at = 0;
    while (!cursor.ended() && cursor.out() < most) {
        at += cursor.read(window.data() + at, window_bytes - at, Z_BLOCK);
        if (at == window_bytes) at = 0;
        if (!cursor.is_between_blocks() || cursor.out() < places_.back().out + step_bytes) continue;
        RestartPoint place{cursor.in(), cursor.out(), cursor.bits(), std::vector<unsigned char>(window_bytes)};
        std::memcpy(place.window.data(), window.data() + at, window_bytes - at);
        std::memcpy(place.window.data() + (window_bytes - at), window.data(), at);
        places_.push_back(std::move(place));
    }
    size_ = std::min(cursor.out(), most);
}

std::unique_ptr<PackedBytes::Cursor> PackedBytes::cursor_before(std::uint64_t offset) const {
    const auto place = std::upper_bound(places_.begin() + 1, places_.end(), offset,
                                        [](std::uint64_t out, const RestartPoint& one) { return out < one.out; }) -
                       1;
    {
        const std::lock_guard lock(mutex_);
        auto best = idle_.end();
        for (auto one = idle_.begin(); one != idle_.end(); ++one)
            if ((*one)->out() <= offset && (*one)->out() >= place->out &&
                (best == idle_.end() || (*one)->out() > (*best)->out()))
                best = one;
        if (best != idle_.end()) {
            auto cursor = std::move(*best);
            idle_.erase(best);
            return cursor;
        }
    }
    return std::make_unique<Cursor>(*this, *place);
}

std::size_t PackedBytes::read_at(std::uint64_t offset, std::byte* out, std::size_t n) const {
    if (offset >= size_) return 0;
    n = std::size_t(std::min<std::uint64_t>(n, size_ - offset));
    auto cursor = cursor_before(offset);
    std::vector<std::byte> skipped(std::size_t(std::min<std::uint64_t>(chunk_bytes, offset - cursor->out())));
    while (cursor->out() < offset && !cursor->ended())
        cursor->read(skipped.data(), std::size_t(std::min<std::uint64_t>(skipped.size(), offset - cursor->out())));
    const std::size_t got = cursor->out() == offset ? cursor->read(out, n) : 0;
    const std::lock_guard lock(mutex_);
    if (idle_.size() == max_idle) idle_.erase(idle_.begin());
    idle_.push_back(std::move(cursor));
    return got;
}

}  // namespace glint
