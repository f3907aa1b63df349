// An index of the finished frames of a run: the whole records in its journal and in the files of its processes.
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "glint/movie.hpp"
#include "run/record_file.hpp"

namespace glint {

/// Frames without a record are gaps. If records overlap, the first one counts. Not thread-safe.
class FinishedFrames {
  public:
    FinishedFrames(const Fingerprint& fingerprint, const TableLayout& layout, FrameRange frames)
        : fingerprint_(fingerprint), layout_(layout), frames_(frames) {}

    /// Adds the records of a file; calls `taken` for each one that counts. Returns the end of the last complete record,
    /// 0 if there is none. Throws InputError. Throws OptionError for a file that was begun with another fingerprint.
    std::uint64_t add(const std::filesystem::path& path, const RecordFile::Visit& taken);
    /// Appends a record to a file that this index does not own, and adds it to the index.
    void append_to(RecordFile& file, const BlockResult& block);
    /// Sets the end of a run whose end was unknown.
    void end_at(std::int64_t end) { frames_.end = end; }

    /// The frames that are not finished, in order.
    std::vector<FrameRange> gaps() const;
    /// Visits each record, in the order of frames, while all threads read some of the next ones.
    void for_each(const RecordFile::Visit& visit) const;

  private:
    struct RecordPosition {
        const RecordFile* file = nullptr;
        std::uint64_t offset = 0, end = 0;
        std::int64_t first_frame = 0, end_frame = 0;
        std::uint64_t checksum = 0;
    };
    bool is_free(const BlockResult& block) const;
    static void read(const RecordPosition& place, BlockResult& block);

    Fingerprint fingerprint_;
    TableLayout layout_;
    FrameRange frames_;
    std::vector<std::unique_ptr<RecordFile>> files_;
    std::map<std::int64_t, RecordPosition> records_;  ///< by first frame
};

}  // namespace glint
