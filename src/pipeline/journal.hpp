// The journal of a run: finished blocks on disk, valid up to its last whole record whatever stops the process.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>

#include "glint/progress.hpp"
#include "pipeline/record_file.hpp"

namespace glint {

/// What to do about a journal that lies there already.
enum class JournalStart {
    fresh,     ///< refuse, unless it holds no finished frame
    resume,    ///< continue it; start anew when there is none
    overwrite  ///< start anew
};

/// A RecordFile whose records follow each other, locked as long as the object lives. A journal that holds no record is removed by the destructor, any other is kept. Not thread-safe.
class Journal {
  public:
    using Visit = RecordFile::Visit;

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
    void sync() { file_.sync(); }
    /// Deletes the file: the run is complete.
    void remove(const Warn& warn);

  private:
    void recover(const Visit& recovered);

    RecordFile file_;
    std::int64_t first_frame_ = 0, next_frame_ = 0;
};

}  // namespace glint
