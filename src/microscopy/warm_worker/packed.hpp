// Columns of values in shared memory: each as its number of elements, followed by the elements.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

namespace glint::warm_worker {

constexpr std::size_t packed_bytes(std::size_t bytes) { return sizeof(std::uint64_t) + (bytes + 7) / 8 * 8; }

class Packer {
  public:
    explicit Packer(std::span<std::byte> to) : to_(to) {}
    template <class T>
    void add(const std::vector<T>& column) {
        add(std::span<const T>(column));
    }
    template <class T>
    void add(std::span<const T> column) {
        static_assert(std::is_trivially_copyable_v<T>);
        const std::uint64_t count = column.size();
        const std::size_t bytes = column.size() * sizeof(T), at = bytes_;
        bytes_ += packed_bytes(bytes);
        if (!all_in()) return;
        std::memcpy(to_.data() + at, &count, sizeof count);
        if (bytes > 0) std::memcpy(to_.data() + at + sizeof count, column.data(), bytes);
    }
    /// Returns true if there was room for all columns.
    bool all_in() const { return bytes_ <= to_.size(); }

  private:
    std::span<std::byte> to_;
    std::size_t bytes_ = 0;  // includes columns without room
};

/// Reads the columns in the same order. Data from another process may be invalid.
class Unpacker {
  public:
    explicit Unpacker(std::span<const std::byte> from) : from_(from) {}
    template <class T>
    void take(std::vector<T>& column) {
        static_assert(std::is_trivially_copyable_v<T>);
        std::uint64_t count = 0;
        column.clear();
        if (from_.size() < sizeof count) return void(good_ = false);
        std::memcpy(&count, from_.data(), sizeof count);
        if (count > (from_.size() - sizeof count) / sizeof(T) ||
            packed_bytes(std::size_t(count) * sizeof(T)) > from_.size())
            return void(good_ = false);
        const auto* first = reinterpret_cast<const T*>(from_.data() + sizeof count);
        column.assign(first, first + count);
        from_ = from_.subspan(packed_bytes(std::size_t(count) * sizeof(T)));
    }
    /// Returns true if all requested columns were present.
    bool good() const { return good_; }

  private:
    std::span<const std::byte> from_;
    bool good_ = true;
};

}  // namespace glint::warm_worker
