// Combines small reads close to each other, such as those of a directory, into larger reads of the file.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "io/files/input_file.hpp"

namespace glint {

/// Caches two positions: the directory, and values that several directories share. May miss changes to the file, so use
/// one object per scan. Not thread-safe.
class NearReads {
  public:
    explicit NearReads(const InputFile& file) : file_(file) {}

    /// Like InputFile::read_at.
    std::size_t read_at(std::uint64_t offset, std::byte* out, std::size_t n) {
        if (n > max_bytes) return file_.read_at(offset, out, n);
        CachedRange* place = &places_[last_];
        if (!place->holds(offset, n)) {
            last_ = 1 - last_, place = &places_[last_];
            if (!place->holds(offset, n)) place->read(file_, offset);
        }
        const std::size_t got = std::min(n, place->count - std::size_t(offset - place->begin));
        std::copy_n(place->bytes.data() + (offset - place->begin), got, out);
        return got;
    }

  private:
    static constexpr std::size_t max_bytes = 1024;
    struct CachedRange {
        std::uint64_t begin = 0;
        std::size_t count = 0;
        std::array<std::byte, 4096> bytes;
        bool holds(std::uint64_t offset, std::size_t n) const {
            return offset >= begin && offset - begin <= count && n <= count - (offset - begin);
        }
        void read(const InputFile& file, std::uint64_t offset) {
            count = 0;  // in case the read throws
            begin = offset, count = file.read_at(offset, bytes.data(), bytes.size());
        }
    };

    const InputFile& file_;
    std::array<CachedRange, 2> places_;
    std::size_t last_ = 0;
};

}  // namespace glint
