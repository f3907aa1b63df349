// Object headers of HDF5 files as bytes (HDF5 File Format Specification, IV.A), where the library believes too much.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "io/input_file.hpp"

namespace glint::hdf5 {

/// Part of a file, read as little-endian numbers one after the other; beyond its end all is 0.
class Bytes {
  public:
    Bytes(const InputFile& file, std::uint64_t at, std::uint64_t count);

    std::size_t left() const { return bytes_.size() - std::min(at_, bytes_.size()); }
    std::size_t size() const { return bytes_.size(); }
    std::size_t at() const { return at_; }
    void go_to(std::size_t at) { at_ = at; }
    void skip(std::size_t count) { at_ += count; }
    std::uint64_t number(std::size_t bytes);
    /// Up to a zero.
    std::string text(std::size_t bytes);
    /// Whether a text that begins there ends there too.
    bool holds_text(std::uint64_t at) const;

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
constexpr std::uint64_t attribute_message = 0x0c, continuation_message = 0x10, symbol_table_message = 0x11;

/// Hands on each message of the object whose header is at `address` (from `base` on), those of its continuations too, until
/// `take` says false.
void for_each_message(const InputFile& file, std::uint64_t base, std::uint64_t address,
                      const std::function<bool(Message)>& take);

/// Where an attribute message's value begins, and its name. False: it does not fit into the message.
struct AttributePlace {
    std::string name;
    std::size_t value = 0;
};
bool find_value(Message message, AttributePlace& place);

}  // namespace glint::hdf5
