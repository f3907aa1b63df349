// A TIFF directory's entries, unconverted.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "io/byte_order.hpp"
#include "io/tiff/handle.hpp"

namespace glint {

/// Reads directories of a handle's file, one after the other, into the same memory.
class RawDirectory {
  public:
    explicit RawDirectory(TiffHandle& tiff)
        : tiff_(&tiff),
          swapped_(bool(TIFFIsBigEndian(tiff.get())) == host_is_little_endian),
          big_(TIFFIsBigTIFF(tiff.get())) {}

    /// Returns false if entries are missing, or if there are more than libtiff reads. As in libtiff, a directory
    /// without room for next() is the last.
    bool read(std::uint64_t offset) {
        const std::size_t count_bytes = big_ ? 8 : 2;
        bytes_.resize(count_bytes);
        if (tiff_->read_at(offset, bytes_.data(), count_bytes) < count_bytes) return false;
        const std::uint64_t count = big_ ? number<std::uint64_t>(bytes_) : number<std::uint16_t>(bytes_);
        if (count > max_entries) return false;
        const std::size_t entries = std::size_t(count) * entry_bytes(), all = entries + (big_ ? 8 : 4);
        bytes_.resize(all);
        const std::size_t found = tiff_->read_at(offset + count_bytes, bytes_.data(), all);
        if (found < all) std::fill(bytes_.begin() + std::ptrdiff_t(entries), bytes_.end(), std::byte{0});
        return found >= entries;
    }

    std::size_t entry_bytes() const { return big_ ? 20 : 12; }
    std::size_t count() const { return bytes_.size() / entry_bytes(); }
    /// Returns tag, type, number of values, and the value or its place.
    std::span<const std::byte> entry(std::size_t k) const {
        return std::span(bytes_).subspan(k * entry_bytes(), entry_bytes());
    }
    std::span<const std::byte> value(std::size_t k) const { return entry(k).subspan(big_ ? 12 : 8); }
    std::uint16_t tag(std::size_t k) const { return number<std::uint16_t>(entry(k)); }
    std::uint16_t type(std::size_t k) const { return number<std::uint16_t>(entry(k).subspan(2)); }
    std::uint64_t values(std::size_t k) const {
        return big_ ? number<std::uint64_t>(entry(k).subspan(4)) : number<std::uint32_t>(entry(k).subspan(4));
    }
    /// Bytes of one of its values; 0 for a type that TIFF does not have.
    std::size_t bytes_of_type(std::size_t k) const {
        constexpr std::size_t bytes[] = {0, 1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8, 4, 0, 0, 8, 8, 8};
        return type(k) < std::size(bytes) ? bytes[type(k)] : 0;
    }
    /// Returns the position of its values; 0 if they are in the entry.
    std::uint64_t place(std::size_t k) const {
        const std::uint64_t inside = big_ ? 8 : 4, most = UINT64_MAX / 8;
        if (std::min(values(k), most) * bytes_of_type(k) <= inside) return 0;
        return big_ ? number<std::uint64_t>(value(k)) : number<std::uint32_t>(value(k));
    }
    /// Returns the position of the next directory; 0 if this is the last.
    std::uint64_t next() const {
        const auto at = std::span(bytes_).subspan(count() * entry_bytes());
        return big_ ? number<std::uint64_t>(at) : number<std::uint32_t>(at);
    }
    /// Returns the number at the beginning of `from`, in the file's byte order.
    template <class T>
    T number(std::span<const std::byte> from) const {
        T value;
        std::memcpy(&value, from.data(), sizeof value);
        if (swapped_) swap_bytes(reinterpret_cast<std::byte*>(&value), sizeof value, sizeof value);
        return value;
    }

  private:
    static constexpr std::uint64_t max_entries = 4096;

    TiffHandle* tiff_;
    bool swapped_, big_;
    std::vector<std::byte> bytes_;
};

}  // namespace glint
