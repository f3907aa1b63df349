// Object headers and heaps of HDF5, as far as a text's length needs them (HDF5 File Format Specification, III.E and IV.A).
// SPDX-License-Identifier: MIT
#include "io/hdf5_claims.hpp"

#include <algorithm>
#include <cstdint>

#include "glint/error.hpp"
#include "io/input_file.hpp"

namespace glint::hdf5 {
namespace {

constexpr std::uint64_t longest_text_bytes = 64 << 20, largest_header_bytes = 1 << 20;
constexpr int most_chunks = 100;

/// Bytes of the file, read as little-endian numbers one after the other; beyond the end all is 0.
class Bytes {
  public:
    Bytes(const InputFile& file, std::uint64_t at, std::uint64_t count) {
        if (at >= file.size()) return;
        bytes_.resize(std::size_t(std::min({count, file.size() - at, largest_header_bytes})));
        bytes_.resize(file.read_at(at, bytes_.data(), bytes_.size()));
    }
    std::size_t left() const { return bytes_.size() - std::min(at_, bytes_.size()); }
    std::size_t at() const { return at_; }
    void go_to(std::size_t at) { at_ = at; }
    void skip(std::size_t count) { at_ += count; }
    std::uint64_t number(std::size_t bytes) {
        std::uint64_t value = 0;
        for (std::size_t k = bytes; k-- > 0;)
            value = value << 8 | (at_ + k < bytes_.size() ? std::to_integer<std::uint64_t>(bytes_[at_ + k]) : 0);
        at_ += bytes;
        return value;
    }
    std::string text(std::size_t bytes) {
        const std::size_t there = std::min(bytes, left());
        const std::string text(reinterpret_cast<const char*>(bytes_.data()) + (there > 0 ? at_ : 0), there);
        at_ += bytes;
        return text.substr(0, text.find('\0'));
    }

  private:
    std::vector<std::byte> bytes_;
    std::size_t at_ = 0;
};

/// Where a text lies: its length, and its number in a heap.
struct Place {
    std::uint64_t length = 0, heap = 0, number = 0;
};

Place place_in(Bytes& bytes) {
    Place place;
    place.length = bytes.number(4);
    place.heap = bytes.number(8);
    place.number = bytes.number(4);
    return place;
}

/// The data of an attribute's message, if it has this name.
std::optional<Place> place_in_attribute(Bytes& bytes, const char* name) {
    const std::uint64_t version = bytes.number(1);
    bytes.skip(1);
    std::size_t sizes[3];  // of name, type and space
    for (std::size_t& size : sizes) size = bytes.number(2);
    if (version == 3) bytes.skip(1);
    if (version == 1)
        for (std::size_t& size : sizes) size = (size + 7) / 8 * 8;
    if (bytes.text(sizes[0]) != name) return std::nullopt;
    bytes.skip(sizes[1] + sizes[2]);
    return place_in(bytes);
}

/// An object's header: the messages of its first piece and of those that continue it.
class Header {
  public:
    Header(const InputFile& file, std::uint64_t base, std::uint64_t address) : file_(file), base_(base) {
        Bytes bytes(file, base + address, largest_header_bytes);
        if (bytes.text(4) == "OHDR") {
            version_ = int(bytes.number(1));
            const std::uint64_t flags = bytes.number(1);
            bytes.skip((flags & 0x20 ? 16 : 0) + (flags & 0x10 ? 4 : 0));
            has_order_ = flags & 0x04;
            const std::uint64_t count = bytes.number(std::size_t(1) << (flags & 3));
            pieces_.push_back({base + address + bytes.at(), count});
        } else {
            bytes.go_to(8);
            pieces_.push_back({base + address + 16, bytes.number(4)});
        }
    }

    std::optional<Place> find(const char* attribute) {
        for (std::size_t k = 0; k < pieces_.size() && k < most_chunks; ++k)
            if (const auto found = find_in(pieces_[k], attribute)) return found;
        return std::nullopt;
    }

  private:
    struct Piece {
        std::uint64_t at, bytes;
    };
    std::optional<Place> find_in(const Piece piece, const char* attribute) {
        Bytes bytes(file_, piece.at, piece.bytes);
        while (bytes.left() > 0) {
            const std::uint64_t kind = bytes.number(version_ == 1 ? 2 : 1), size = bytes.number(2);
            bytes.skip(version_ == 1 ? 4 : has_order_ ? 3 : 1);
            const std::size_t begin = bytes.at();
            if (kind == 0x0c)
                if (const auto found = place_in_attribute(bytes, attribute)) return found;
            if (kind == 0x10) add_piece(bytes);
            bytes.go_to(begin + size);
        }
        return std::nullopt;
    }
    void add_piece(Bytes& message) {
        const std::uint64_t at = base_ + message.number(8), count = message.number(8);
        const std::uint64_t frame = version_ == 1 ? 0 : 4;  // "OCHK", and a checksum
        if (count > 2 * frame) pieces_.push_back({at + frame, count - 2 * frame});
    }

    const InputFile& file_;
    std::uint64_t base_;
    int version_ = 1;
    bool has_order_ = false;
    std::vector<Piece> pieces_;
};

/// Whether the heap holds that text, as long as its place says, and everything before it fits in.
bool is_in_heap(const InputFile& file, std::uint64_t base, const Place& place) {
    std::uint64_t at = base + place.heap;
    Bytes head(file, at, 16);
    const bool is_heap = head.text(4) == "GCOL";
    head.skip(4);
    const std::uint64_t end = at + head.number(8);
    if (!is_heap || end < at || end > file.size()) return false;
    for (at += 16; end - at >= 16;) {
        Bytes object(file, at, 16);
        const std::uint64_t number = object.number(2);
        object.skip(6);
        const std::uint64_t size = object.number(8);
        if (number == 0 || size > end - at - 16) return false;  // 0: what is free, the last one
        if (number == place.number) return size == place.length;
        at += 16 + std::min((size + 7) / 8 * 8, end - at - 16);
    }
    return false;
}

}  // namespace

bool is_honest_text(hid_t object, const char* attribute) {
    const Handle file(H5Iget_file_id(object)), properties(H5Fget_create_plist(file));
    std::size_t address_bytes = 0, size_bytes = 0;
    hsize_t base = 0;
    H5O_info_t info;
    std::string name(std::size_t(std::max<ssize_t>(H5Fget_name(file, nullptr, 0), 0)), '\0');
    H5Fget_name(file, name.data(), name.size() + 1);
    if (H5Pget_sizes(properties, &address_bytes, &size_bytes) < 0 || address_bytes != 8 || size_bytes != 8) return true;
    if (H5Pget_userblock(properties, &base) < 0 || H5Oget_info(object, &info) < 0) return false;
    const InputFile bytes(name);
    std::optional<Place> place;
    if (attribute) {
        place = Header(bytes, base, info.addr).find(attribute);
    } else if (const haddr_t at = H5Dget_offset(object); at != HADDR_UNDEF) {
        Bytes data(bytes, at, 16);
        place = place_in(data);
    }
    return !place || place->length == 0 || (place->length <= longest_text_bytes && is_in_heap(bytes, base, *place));
}

}  // namespace glint::hdf5
