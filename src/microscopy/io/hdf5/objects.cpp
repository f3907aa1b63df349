// Reads object headers, versions 1 and 2.
// SPDX-License-Identifier: MIT
#include "io/hdf5/objects.hpp"

#include <algorithm>

namespace glint::hdf5 {
namespace {

constexpr std::uint64_t max_bytes_at_once = 16 << 20;
constexpr std::size_t max_pieces = 100;

/// A range of bytes that holds messages.
struct Piece {
    std::uint64_t at = 0, bytes = 0;
};

struct Header {
    int version = 1;
    bool has_order = false;  ///< messages have a number: the order of their creation
    std::vector<Piece> pieces;
};

Header read_header(Source& source, std::uint64_t at) {
    Header header;
    Bytes bytes(source, at, 64);
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

Bytes::Bytes(Source& source, std::uint64_t at, std::uint64_t count) {
    const InputFile& file = source.file;
    if (at > file.size() || source.base + at >= file.size()) return;
    count = std::min({count, file.size() - source.base - at, max_bytes_at_once});
    source.exhausted |= count > source.bytes_left;
    if (source.exhausted) return;
    source.bytes_left -= count;
    bytes_.resize(std::size_t(count));
    bytes_.resize(file.read_at(source.base + at, bytes_.data(), bytes_.size()));
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

std::size_t Bytes::last_zero() const {
    std::size_t k = bytes_.size();
    while (k > 0 && bytes_[k - 1] != std::byte{}) --k;
    return k > 0 ? k - 1 : 0;
}

void for_each_message(Source& source, std::uint64_t address, const std::function<bool(Message)>& take) {
    Header header = read_header(source, address);
    const std::size_t head = header.version == 1 ? 8 : header.has_order ? 6 : 4;
    for (std::size_t k = 0; k < header.pieces.size() && k < max_pieces; ++k) {
        Bytes bytes(source, header.pieces[k].at, header.pieces[k].bytes);
        while (bytes.left() >= head) {
            const std::size_t begin = bytes.at() + head;
            const std::uint64_t kind = bytes.number(header.version == 1 ? 2 : 1), size = bytes.number(2);
            const std::uint64_t flags = bytes.number(1);
            bytes.go_to(begin);
            if (!take({kind, size, (flags & 2) != 0, bytes})) return;
            bytes.go_to(begin);
            if (kind == continuation_message) {
                const std::uint64_t at = bytes.number(8), count = bytes.number(8);
                const std::uint64_t frame = header.version == 1 ? 0 : 4;  // "OCHK", and a checksum
                if (count > 2 * frame) header.pieces.push_back({at + frame, count - 2 * frame});
            }
            bytes.go_to(begin + size);
        }
    }
}

void ChunkFacts::take(Message message) {
    Bytes& bytes = message.bytes;
    if (message.kind == dataspace_message) {
        bytes.skip(1);
        rank = bytes.number(1);
    } else if (message.kind == datatype_message && !message.is_elsewhere) {
        bytes.skip(4);
        value_bytes = bytes.number(4);
    } else if (message.kind == layout_message) {
        const std::uint64_t version = bytes.number(1), kind = bytes.number(1);
        if ((version != 3 && version != 4) || kind != 2) return;
        bytes.skip(version == 4 ? 1 : 0);
        chunk_dimensions = bytes.number(1);
        const std::uint64_t width = version == 4 ? bytes.number(1) : 4;
        bytes.skip(version == 3 ? 8 : 0);
        bytes.skip(std::max<std::uint64_t>(chunk_dimensions, 1) * width - width);
        chunk_value_bytes = bytes.number(std::min<std::size_t>(width, 8));
    }
}

namespace {

/// Number of elements of a dataspace message; 2^20 if it is more, which no message holds.
std::uint64_t count_elements(Bytes& bytes) {
    constexpr std::uint64_t max_count = 1 << 20, null_space = 2;
    const std::uint64_t version = bytes.number(1), rank = bytes.number(1);
    bytes.skip(1);
    const std::uint64_t kind = bytes.number(version == 1 ? 5 : 1);
    if (version > 1 && kind == null_space) return 0;
    std::uint64_t count = 1;
    for (std::uint64_t k = 0; k < rank; ++k) {
        const std::uint64_t extent = bytes.number(8);
        count = extent == 0 ? 0 : count > max_count / extent ? max_count : count * extent;
    }
    return count;
}

}  // namespace

bool find_value(Message message, AttributePlace& place) {
    Bytes& bytes = message.bytes;
    const std::size_t begin = bytes.at();
    const std::uint64_t version = bytes.number(1), flags = bytes.number(1);
    std::size_t sizes[3];  // of name, type and space
    for (std::size_t& size : sizes) size = bytes.number(2);
    if (version == 3) bytes.skip(1);
    if (version == 1)
        for (std::size_t& size : sizes) size = (size + 7) / 8 * 8;
    place.name = bytes.text(sizes[0]);
    const std::size_t type = bytes.at(), space = type + sizes[1];
    place.value = space + sizes[2];
    std::uint64_t value_bytes = 0;
    if (version == 1 || (flags & 3) == 0) {  // else the type or the space is elsewhere
        bytes.go_to(type + 4);
        const std::uint64_t element_bytes = bytes.number(4);
        bytes.go_to(space);
        value_bytes = element_bytes * count_elements(bytes);
    }
    bytes.go_to(place.value);
    return bytes.at() - begin <= message.size && value_bytes <= message.size - (bytes.at() - begin);
}

}  // namespace glint::hdf5
