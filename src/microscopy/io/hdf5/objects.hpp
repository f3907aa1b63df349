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

/// A file, and how much of it may still be read: overlapping pieces could take time quadratic in its size.
struct Source {
    const InputFile& file;
    std::uint64_t base = 0;  ///< what addresses count from
    std::uint64_t bytes_left = 8 * file.size() + (64 << 10);
    bool exhausted = false;
};

/// Part of a file, read as little-endian numbers one after the other; beyond its end all is 0.
class Bytes {
  public:
    /// From address `at` on.
    Bytes(Source& source, std::uint64_t at, std::uint64_t count);

    std::size_t left() const { return bytes_.size() - std::min(at_, bytes_.size()); }
    std::size_t size() const { return bytes_.size(); }
    std::size_t at() const { return at_; }
    void go_to(std::size_t at) { at_ = at; }
    void skip(std::size_t count) { at_ += count; }
    std::uint64_t number(std::size_t bytes);
    /// Up to a zero.
    std::string text(std::size_t bytes);
    /// Returns the position of the last zero, before which every text ends; 0 if there is none.
    std::size_t last_zero() const;

  private:
    std::vector<std::byte> bytes_;
    std::size_t at_ = 0;
};

/// One message of a header: what it is, and its bytes.
struct Message {
    std::uint64_t kind = 0, size = 0;
    bool is_elsewhere = false;  ///< shared among objects: here is only its place
    Bytes& bytes;               ///< stands at the message's first one
};
constexpr std::uint64_t dataspace_message = 0x01, datatype_message = 0x03, layout_message = 0x08,
                        attribute_message = 0x0c, continuation_message = 0x10, symbol_table_message = 0x11;

/// Calls `take` for each message of the object whose header is at `address`, continuations included, until it is false.
void for_each_message(Source& source, std::uint64_t address, const std::function<bool(Message)>& take);

/// What each message of a dataset states of its chunks; 0 if it states nothing.
struct ChunkFacts {
    std::uint64_t rank = 0, value_bytes = 0;                    ///< of the data
    std::uint64_t chunk_dimensions = 0, chunk_value_bytes = 0;  ///< of a chunk; the last dimension is the value's bytes

    void take(Message message);
    bool agree() const {
        return chunk_dimensions == 0 || value_bytes == 0 ||
               (chunk_dimensions == rank + 1 && chunk_value_bytes == value_bytes);
    }
};

/// Where an attribute message's value begins, and its name. False: it does not fit into the message.
struct AttributePlace {
    std::string name;
    std::size_t value = 0;
};
bool find_value(Message message, AttributePlace& place);

}  // namespace glint::hdf5
