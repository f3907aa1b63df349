// A file of finished blocks: the fingerprint of their run, then one record per block, each with its checksum.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "pipeline/block_result.hpp"
#include "run/table_bytes.hpp"

namespace glint {

/// All values, by name, on which the result of a run depends. Only a run with the same values may adopt its records.
using Fingerprint = std::vector<std::pair<std::string, std::string>>;

/// Returns the differences as text: "threshold (5 then, 6 now); ...".
std::string differences(const Fingerprint& then, const Fingerprint& now);

/// An append-only, little-endian file: magic, fingerprint as JSON, records. However its writer is stopped, the file is
/// valid up to its last complete record. close() removes a file without records that this object created or locked. Not
/// thread-safe. All functions throw OutputError and InputError that name the file.
class RecordFile {
  public:
    using Visit = std::function<void(BlockResult)>;

    RecordFile(std::filesystem::path path, const TableLayout& layout) : path_(std::move(path)), layout_(layout) {}
    ~RecordFile() { close(); }
    RecordFile(const RecordFile&) = delete;
    RecordFile& operator=(const RecordFile&) = delete;

    /// `flags` as in open(2). Also throws for anything except a regular file.
    void open(int flags);
    /// Opens or creates the file and holds its lock while it is open, so that two processes cannot write one output.
    /// Throws OutputError, also if another process holds the lock.
    void open_locked();
    void close();
    /// Removes the file, unless its name now leads to another file. Returns false if it cannot be removed.
    bool remove();
    const std::filesystem::path& path() const { return path_; }

    /// Returns false for a new file (empty, or torn before its header was complete). Throws InputError if it is damaged
    /// or not such a file.
    bool read_header(Fingerprint& fingerprint);
    /// Truncates the file to nothing, and writes the header.
    void start(const Fingerprint& fingerprint);
    /// Returns true if anything follows the header.
    bool holds_records() const { return file_size() > records_begin_; }
    std::uint64_t records_begin() const { return records_begin_; }
    std::uint64_t file_size() const;

    /// Truncates the file to `end`, where the next record begins.
    void end_at(std::uint64_t end);
    std::uint64_t end() const { return end_; }
    /// Returns the checksum of the record.
    std::uint64_t append(const BlockResult& block);
    /// Returns the number of bytes of the record at `offset`; 0 if there is no complete record between there and `end`.
    /// `checksum` receives the record's checksum.
    std::uint64_t read(std::uint64_t offset, std::uint64_t end, BlockResult& block,
                       std::uint64_t* checksum = nullptr) const;
    /// Flushes the records to the disk.
    void sync();

  private:
    bool is_empty() const;
    void read_at(std::uint64_t offset, void* to, std::size_t count) const;
    void write_at_end(const std::vector<char>& bytes);

    std::filesystem::path path_;
    TableLayout layout_;
    int descriptor_ = -1;
    bool ours_ = false;  ///< created or locked by this object
    std::uint64_t records_begin_ = 0, end_ = 0;
    std::vector<char> bytes_;
};

}  // namespace glint
