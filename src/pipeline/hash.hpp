// FNV-1a over bytes, eight at a time: tells torn records and changed inputs from whole ones. No cryptography.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace glint {

class Hash {
  public:
    void add(const void* bytes, std::size_t count) {
        const char* next = static_cast<const char*>(bytes);
        for (; count >= 8; count -= 8, next += 8) {
            std::uint64_t word;
            std::memcpy(&word, next, 8);
            mix(word);
        }
        std::uint64_t tail = 0;
        std::memcpy(&tail, next, count);
        mix(tail ^ (std::uint64_t(count) << 56));
    }
    std::uint64_t value() const { return state_; }

  private:
    void mix(std::uint64_t word) {
        state_ = (state_ ^ word) * 0x100000001b3u;
        state_ ^= state_ >> 32;  // a multiplication carries upwards only
    }
    std::uint64_t state_ = 0xcbf29ce484222325u;
};

inline std::uint64_t hash_of(const void* bytes, std::size_t count) {
    Hash hash;
    hash.add(bytes, count);
    return hash.value();
}

}  // namespace glint
