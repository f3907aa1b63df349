// The journal of a run: finished blocks on disk, valid up to its last whole record whatever stops the process.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "pipeline/block_result.hpp"
#include "pipeline/table_bytes.hpp"

namespace glint {

/// Everything that a result depends on, by name: a journal may be continued only where all of it is the same.
using Fingerprint = std::vector<std::pair<std::string, std::string>>;

/// What to do about a journal that lies there already.
enum class JournalStart {
    fresh,     ///< refuse, unless it holds no finished frame
    resume,    ///< continue it; start anew when there is none
    overwrite  ///< start anew
};

/// An append-only file, little-endian: magic, fingerprint as JSON, then one record a block with its checksum.
/// Locked (flock) as long as the object lives, so that two processes cannot write one output. A journal that
/// holds no record is removed by the destructor, any other is kept. Not thread-safe.
class Journal {
  public:
    using Visit = std::function<void(BlockResult)>;

    /// `recovered` hears of each whole record of a resumed journal, in order; a torn one at the end is cut off.
    /// Records must follow each other from `first_frame` on. Throws OutputError (another process at work, no
    /// permission, disk full), OptionError (a journal in the way; another fingerprint, naming what differs) and
    /// InputError (the file is no journal).
    Journal(std::filesystem::path path, const Fingerprint& fingerprint, const TableLayout& layout,
            std::int64_t first_frame, JournalStart start, const Visit& recovered);
    ~Journal();
    Journal(const Journal&) = delete;
    Journal& operator=(const Journal&) = delete;

    /// Throws OutputError; the journal then ends with the record before.
    void append(const BlockResult& block);
    /// All records in order, one in memory at a time.
    void for_each(const Visit& visit) const;
    /// The first frame that no record covers.
    std::int64_t next_frame() const { return next_frame_; }
    /// Brings the records to the disk. Throws OutputError.
    void sync();
    /// Deletes the file: the run is complete.
    void remove();

  private:
    class Descriptor {
      public:
        Descriptor() = default;
        ~Descriptor();
        Descriptor(const Descriptor&) = delete;
        Descriptor& operator=(const Descriptor&) = delete;
        int number = -1;
    };

    void open_locked();
    bool lock();
    std::uint64_t file_size() const;
    void read_at(std::uint64_t offset, void* to, std::size_t count) const;
    void write_at_end(const std::vector<char>& bytes);
    bool read_header(Fingerprint& fingerprint);
    void start_anew(const Fingerprint& fingerprint);
    void recover(const Visit& recovered);
    std::uint64_t read_record(std::uint64_t offset, std::uint64_t end, BlockResult& block) const;

    std::filesystem::path path_;
    TableLayout layout_;
    Descriptor file_;
    std::uint64_t records_begin_ = 0, end_ = 0;
    std::int64_t first_frame_ = 0, next_frame_ = 0;
    std::vector<char> bytes_;
};

}  // namespace glint
