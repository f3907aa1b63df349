// Object headers of HDF5 files as bytes (HDF5 File Format Specification, IV.A), where the library checks too little.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "io/files/input_file.hpp"

namespace glint::hdf5 {

/// A file, and how much of it may still be read. Without a limit, overlapping pieces could take time quadratic in its
/// size.
struct Source {
    const InputFile& file;
    std::uint64_t base = 0;  ///< origin of addresses
    std::uint64_t bytes_left = 8 * file.size() + (64 << 10);
    bool exhausted = false;
};

/// Part of a file, read as little-endian numbers one after the other; beyond its end all is 0.
class Bytes {
  public:
    /// The bytes from address `at` on.
    Bytes(Source& source, std::uint64_t at, std::uint64_t count);

    std::size_t left() const { return bytes_.size() - std::min(at_, bytes_.size()); }
    std::size_t size() const { return bytes_.size(); }
    std::size_t at() const { return at_; }
    void go_to(std::size_t at) { at_ = at; }
    void skip(std::size_t count) { at_ += count; }
    std::uint64_t number(std::size_t bytes);
    /// Reads a text up to a zero.
    std::string text(std::size_t bytes);
    /// Returns the position of the last zero, before which every text ends; 0 if there is none.
    std::size_t last_zero() const;

  private:
    std::vector<std::byte> bytes_;
    std::size_t at_ = 0;
};

/// One message of a header: its type and its bytes.
struct Message {
    std::uint64_t kind = 0, size = 0;
    bool is_elsewhere = false;  ///< shared by several objects: only its position is here
    Bytes& bytes;               ///< positioned at the message's first byte
};
constexpr std::uint64_t dataspace_message = 0x01, datatype_message = 0x03, layout_message = 0x08,
                        attribute_message = 0x0c, continuation_message = 0x10, symbol_table_message = 0x11;

/// Calls `take` for each message of the object whose header is at `address`, including continuations, until it returns
/// false.
void for_each_message(Source& source, std::uint64_t address, const std::function<bool(Message)>& take);

/// What the messages of a dataset state about its chunks; 0 if they state nothing.
struct ChunkFacts {
    std::uint64_t rank = 0, value_bytes = 0;                    ///< of the data
    std::uint64_t chunk_dimensions = 0, chunk_value_bytes = 0;  ///< of a chunk; the last dimension is the value's bytes

    void take(Message message);
    bool agree() const {
        return chunk_dimensions == 0 || value_bytes == 0 ||
               (chunk_dimensions == rank + 1 && chunk_value_bytes == value_bytes);
    }
};

/// Gets the position of an attribute message's value, and its name. Returns false if they do not fit into the message,
/// beyond which HDF5 1.10 would read.
struct AttributePlace {
    std::string name;
    std::size_t value = 0;
};
bool find_value(Message message, AttributePlace& place);

}  // namespace glint::hdf5
