// Bytes as text, and compressed bytes.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace glint {

/// Returns the bytes as base64 (RFC 4648), with padding.
std::string base64(std::span<const std::uint8_t> bytes);

/// Compresses columns of bytes, each of which has its own distribution, as one zlib stream (RFC 1950).
class ColumnDeflater {
  public:
    ColumnDeflater();
    ~ColumnDeflater();
    ColumnDeflater(const ColumnDeflater&) = delete;
    ColumnDeflater& operator=(const ColumnDeflater&) = delete;
    /// Appends a column. Its Huffman codes are independent of those of other columns.
    void append(std::span<const std::uint8_t> column);
    /// Ends the stream, and returns it.
    std::vector<std::uint8_t> take();

  private:
    struct Stream;
    void deflate_all(int flush);
    Stream* stream_;
    std::vector<std::uint8_t> out_;
};

}  // namespace glint
