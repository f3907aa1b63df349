// Reads little-endian numbers and texts from untrusted bytes.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>

#include "io/byte_order.hpp"

namespace glint {

/// Reads one value after the other. Throws std::runtime_error with the bare reason if the bytes end before the
/// value does.
class BytesReader {
  public:
    explicit BytesReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

    std::size_t at() const { return at_; }
    std::size_t left() const { return bytes_.size() - at_; }
    std::span<const std::byte> take(std::uint64_t count) {
        if (count > left()) throw std::runtime_error("a length in it reaches beyond its end");
        at_ += std::size_t(count);
        return bytes_.subspan(at_ - std::size_t(count), std::size_t(count));
    }
    template <class T>
    T number() {
        std::byte raw[sizeof(T)];
        std::memcpy(raw, take(sizeof(T)).data(), sizeof(T));
        if (!host_is_little_endian) swap_bytes(raw, sizeof(T), sizeof(T));
        T value;
        std::memcpy(&value, raw, sizeof(T));
        return value;
    }
    std::string text(std::uint64_t count) {
        const auto raw = take(count);
        return {reinterpret_cast<const char*>(raw.data()), raw.size()};
    }

  private:
    std::span<const std::byte> bytes_;
    std::size_t at_ = 0;
};

}  // namespace glint
