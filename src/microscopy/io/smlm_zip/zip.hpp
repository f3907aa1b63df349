// ZIP archives: the list of entries, one entry read as a stream, and archives written entry by entry.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "io/files/atomic_file.hpp"
#include "io/files/input_file.hpp"

namespace glint {

struct ZipEntry {
    std::string name;
    std::uint64_t packed_bytes = 0, bytes = 0;  ///< in the archive; unpacked
    std::uint64_t header_at = 0;
    std::uint32_t crc = 0;
    int method = 0;  ///< 0 stored, 8 deflated
    bool is_encrypted = false;
};

/// Returns true if the file begins like an archive with an entry.
bool begins_like_zip(const InputFile& file);

/// Returns the entries of the central directory, with the sizes of ZIP64. Throws InputError: no directory, damaged,
/// several parts, too many entries.
std::vector<ZipEntry> zip_entries(const InputFile& file);

/// Reads the bytes of one entry in order.
class ZipStream {
  public:
    /// Throws InputError for a method that is neither stored nor deflated, and for encrypted entries.
    ZipStream(std::shared_ptr<const InputFile> file, ZipEntry entry);
    ~ZipStream();
    ZipStream(const ZipStream&) = delete;
    ZipStream& operator=(const ZipStream&) = delete;

    void restart();
    /// Fills `out`; fewer bytes only at the entry's end. Throws InputError if the entry is damaged, if its length
    /// differs from the directory's, or if its checksum differs.
    std::size_t read(std::span<std::byte> out);
    const ZipEntry& entry() const { return entry_; }

  private:
    struct State;
    [[noreturn]] void fail(const std::string& why) const;
    std::size_t read_stored(std::span<std::byte> out);
    std::size_t read_deflated(std::span<std::byte> out);

    std::shared_ptr<const InputFile> file_;
    ZipEntry entry_;
    std::uint64_t first_byte_ = 0;
    std::unique_ptr<State> state_;
};

/// Returns all bytes of a small entry. Throws InputError if it is longer than `most`.
std::string read_zip_entry(const std::shared_ptr<const InputFile>& file, const ZipEntry& entry, std::size_t most);

/// Writes an archive into an AtomicFile. All threads deflate bytes in blocks of fixed size, so that the archive depends
/// neither on the number of threads nor on the sizes of the writes.
class ZipWriter {
  public:
    explicit ZipWriter(AtomicFile& to) : to_(to) {}
    void begin(const std::string& name);
    void write(std::span<const std::byte> bytes);
    void end();
    /// Writes the central directory. The caller commits.
    void close();

  private:
    void deflate_blocks(std::size_t bytes);
    std::size_t header(const ZipEntry& entry, std::string& to, bool is_central) const;

    AtomicFile& to_;
    std::uint64_t at_ = 0;
    std::vector<ZipEntry> entries_;
    std::vector<std::byte> waiting_;
};

}  // namespace glint
