// Reading object headers, versions 1 and 2.
// SPDX-License-Identifier: MIT
#include "io/hdf5_objects.hpp"

#include <algorithm>

namespace glint::hdf5 {
namespace {

constexpr std::uint64_t most_bytes_at_once = 16 << 20;
constexpr std::size_t most_pieces = 100;

/// A stretch of messages.
struct Piece {
    std::uint64_t at = 0, bytes = 0;
};

struct Header {
    int version = 1;
    bool has_order = false;  ///< messages have a number that says when they came
    std::vector<Piece> pieces;
};

Header read_header(const InputFile& file, std::uint64_t at) {
    Header header;
    Bytes bytes(file, at, 64);
    if (bytes.text(4) != "OHDR") {
        bytes.go_to(8);
        header.pieces.push_back({at + 16, bytes.number(4)});
        return header;
    }
    header.version = 2;
    bytes.skip(1);
    const std::uint64_t flags = bytes.number(1);
    bytes.skip((flags & 0x20 ? 16 : 0) + (flags & 0x10 ? 4 : 0));
    header.has_order = flags & 0x04;
    const std::uint64_t count = bytes.number(std::size_t(1) << (flags & 3));
    header.pieces.push_back({at + bytes.at(), count});
    return header;
}

}  // namespace

Bytes::Bytes(const InputFile& file, std::uint64_t at, std::uint64_t count) {
    if (at >= file.size()) return;
    bytes_.resize(std::size_t(std::min({count, file.size() - at, most_bytes_at_once})));
    bytes_.resize(file.read_at(at, bytes_.data(), bytes_.size()));
}

std::uint64_t Bytes::number(std::size_t bytes) {
    std::uint64_t value = 0;
    for (std::size_t k = bytes; k-- > 0;)
        value = value << 8 | (at_ + k < bytes_.size() ? std::to_integer<std::uint64_t>(bytes_[at_ + k]) : 0);
    at_ += bytes;
    return value;
}

std::string Bytes::text(std::size_t bytes) {
    std::string text(std::min(bytes, left()), '\0');
    for (std::size_t k = 0; k < text.size(); ++k) text[k] = char(bytes_[at_ + k]);
    at_ += bytes;
    return text.substr(0, text.find('\0'));
}

bool Bytes::holds_text(std::uint64_t at) const {
    return at < bytes_.size() &&
           std::find(bytes_.begin() + std::ptrdiff_t(at), bytes_.end(), std::byte{}) != bytes_.end();
}

void for_each_message(const InputFile& file, std::uint64_t base, std::uint64_t address,
                      const std::function<bool(Message)>& take) {
    Header header = read_header(file, base + address);
    const std::size_t head = header.version == 1 ? 8 : header.has_order ? 6 : 4;
    for (std::size_t k = 0; k < header.pieces.size() && k < most_pieces; ++k) {
        Bytes bytes(file, header.pieces[k].at, header.pieces[k].bytes);
        while (bytes.left() >= head) {
            const std::size_t begin = bytes.at() + head;
            const std::uint64_t kind = bytes.number(header.version == 1 ? 2 : 1), size = bytes.number(2);
            const std::uint64_t flags = bytes.number(1);
            bytes.go_to(begin);
            if (!take({kind, size, (flags & 2) != 0, bytes})) return;
            bytes.go_to(begin);
            if (kind == continuation_message) {
                const std::uint64_t at = base + bytes.number(8), count = bytes.number(8);
                const std::uint64_t frame = header.version == 1 ? 0 : 4;  // "OCHK", and a checksum
                if (count > 2 * frame) header.pieces.push_back({at + frame, count - 2 * frame});
            }
            bytes.go_to(begin + size);
        }
    }
}

bool find_value(Message message, AttributePlace& place) {
    Bytes& bytes = message.bytes;
    const std::size_t begin = bytes.at();
    const std::uint64_t version = bytes.number(1);
    bytes.skip(1);
    std::size_t sizes[3];  // of name, type and space
    for (std::size_t& size : sizes) size = bytes.number(2);
    if (version == 3) bytes.skip(1);
    if (version == 1)
        for (std::size_t& size : sizes) size = (size + 7) / 8 * 8;
    place.name = bytes.text(sizes[0]);
    bytes.skip(sizes[1] + sizes[2]);
    place.value = bytes.at();
    return bytes.at() - begin <= message.size;
}

}  // namespace glint::hdf5
