// Bytes that are not those of a file itself, but unpacked from it.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

namespace glint {

/// Several threads may read at once.
class ByteSource {
  public:
    virtual ~ByteSource() = default;
    virtual std::uint64_t size() const = 0;
    /// Reads up to n bytes; fewer only where there are no more. Throws InputError.
    virtual std::size_t read_at(std::uint64_t offset, std::byte* out, std::size_t n) const = 0;
};

}  // namespace glint
