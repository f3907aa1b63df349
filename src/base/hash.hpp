// XXH3 hashes, which reveal torn records and changed inputs. Not cryptographic.
// SPDX-License-Identifier: MIT
#pragma once

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstddef>
#include <cstdint>

namespace glint {

inline std::uint64_t hash_of(const void* bytes, std::size_t count) { return XXH3_64bits(bytes, count); }

/// The same over several pieces.
class Hash {
  public:
    Hash() { XXH3_64bits_reset(&state_); }
    void add(const void* bytes, std::size_t count) { XXH3_64bits_update(&state_, bytes, count); }
    std::uint64_t value() const { return XXH3_64bits_digest(&state_); }

  private:
    XXH3_state_t state_;
};

}  // namespace glint
