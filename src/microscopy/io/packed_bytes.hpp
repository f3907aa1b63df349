// A zlib stream inside a file, readable from any position: one pass records where reading may begin again.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <vector>

#include "io/files/input_file.hpp"

namespace glint {

/// Bytes that are unpacked from a file. Several threads may read simultaneously.
class ByteSource {
  public:
    virtual ~ByteSource() = default;
    virtual std::uint64_t size() const = 0;
    /// Reads up to n bytes; fewer only at the end. Throws InputError.
    virtual std::size_t read_at(std::uint64_t offset, std::byte* out, std::size_t n) const = 0;
};

/// Memory: 32 KiB for each 4 MiB of the stream, and 48 KiB for each of the places where readers are.
class PackedBytes : public ByteSource {
  public:
    /// Opens the stream of `packed` bytes at `offset`, unpacked up to `most` bytes. If it is truncated or damaged,
    /// `size` is the number of bytes that can be unpacked. Throws InputError if the file cannot be read.
    PackedBytes(const std::filesystem::path& path, std::uint64_t offset, std::uint64_t packed, std::uint64_t most);
    ~PackedBytes() override;

    std::uint64_t size() const override { return size_; }
    std::size_t read_at(std::uint64_t offset, std::byte* out, std::size_t n) const override;

    struct RestartPoint;
    class Cursor;

  private:
    void note_places(std::uint64_t most);
    std::unique_ptr<Cursor> cursor_before(std::uint64_t offset) const;

    InputFile file_;
    std::uint64_t offset_, packed_, size_ = 0;
    std::vector<RestartPoint> places_;
    mutable std::mutex mutex_;
    mutable std::vector<std::unique_ptr<Cursor>> idle_;  ///< where readers stopped: the next frame begins there
};

}  // namespace glint
