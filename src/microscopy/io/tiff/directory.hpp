// Directories of a TIFF that glint writes: converts entries to bytes, classic or BigTIFF, in the host's byte order.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace glint {

/// One page's directory, built entry by entry in ascending order of tags.
class TiffDirectory {
  public:
    explicit TiffDirectory(bool big) : big_(big) {}

    void add_short(std::uint16_t tag, std::uint16_t value);
    void add_long(std::uint16_t tag, std::uint32_t value);
    /// Adds an offset or size: 32 bits in a classic TIFF, 64 in a BigTIFF.
    void add_offset(std::uint16_t tag, std::uint64_t value);
    /// Adds a fraction to a BigTIFF, whose entries have room for it.
    void add_rational(std::uint16_t tag, std::uint32_t numerator, std::uint32_t denominator);
    /// Adds values that are too long for an entry; they are at `offset` in the file.
    void add_elsewhere(std::uint16_t tag, std::uint16_t type, std::uint64_t count, std::uint64_t offset);

    /// Returns the number of bytes of `serialised`.
    std::size_t bytes() const { return (big_ ? 16 : 6) + entries_.size(); }
    /// Returns the directory, followed by the position of the next one (0: none).
    std::string serialised(std::uint64_t next) const;

  private:
    void add(std::uint16_t tag, std::uint16_t type, std::uint64_t count, std::string_view value);

    bool big_;
    std::size_t count_ = 0;
    std::string entries_;
};

/// Returns the first bytes of a file whose first directory is at `first`.
std::string tiff_header(bool big, std::uint64_t first);

}  // namespace glint
