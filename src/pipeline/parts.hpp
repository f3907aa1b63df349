// Records of a run of several processes: each writes a file of its own, all of one folder beside the output.
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "glint/movie.hpp"
#include "pipeline/record_file.hpp"

namespace glint {

/// `OUT.journal.parts`.
std::filesystem::path parts_path(const std::filesystem::path& out);
/// `RUN-RANK.part` in it. `run` is new for each run (`new_run_name`): nobody ever writes into somebody else's file, so
/// what is finished stays right even where two runs work on one output and no lock can tell.
std::filesystem::path part_path(const std::filesystem::path& out, const std::string& run, int rank);
std::string new_run_name();

/// The file of one process. One without a record is removed by the destructor.
class PartJournal {
  public:
    /// Throws OutputError, also for a file that exists.
    PartJournal(const std::filesystem::path& path, const Fingerprint& fingerprint, const TableLayout& layout);
    ~PartJournal();

    void append(const BlockResult& block) { file_.append(block); }
    /// Brings the records to the disk; from any thread.
    void sync() { file_.sync(); }
    bool holds_records() const { return file_.end() > file_.records_begin(); }

  private:
    RecordFile file_;
};

/// What is finished of a run: the whole records of several files. Records that overlap others are left out.
class Parts {
  public:
    Parts(const Fingerprint& fingerprint, const TableLayout& layout, FrameRange frames)
        : fingerprint_(fingerprint), layout_(layout), frames_(frames) {}

    /// `taken` hears of each record that counts. Throws InputError, and OptionError for a file that was begun with
    /// something else.
    void add(const std::filesystem::path& path, const RecordFile::Visit& taken);
    /// Frames that no record covers, in order.
    std::vector<FrameRange> gaps() const;
    /// Each record, in the order of frames, one in memory at a time.
    void for_each(const RecordFile::Visit& visit) const;

  private:
    struct Place {
        const RecordFile* file = nullptr;
        std::uint64_t offset = 0, end = 0;
        std::int64_t end_frame = 0;
    };
    bool is_free(const BlockResult& block) const;

    Fingerprint fingerprint_;
    TableLayout layout_;
    FrameRange frames_;
    std::vector<std::unique_ptr<RecordFile>> files_;
    std::map<std::int64_t, Place> records_;  ///< by first frame
};

/// Removes the parts of a finished run that was killed while it removed them, under the name that says so. To be called
/// with the output locked.
void remove_remains_of_parts(const std::filesystem::path& out);

/// The part files in a folder, and none when there is no folder.
std::vector<std::filesystem::path> part_files(const std::filesystem::path& folder);

}  // namespace glint
