// The table of a run, written during the run.
// SPDX-License-Identifier: MIT
#pragma once

#include <condition_variable>
#include <filesystem>
#include <memory>
#include <mutex>
#include <thread>

#include "glint/if_exists.hpp"
#include "glint/localization_io.hpp"

namespace glint {

/// A table written during the run, beside the output. A separate thread converts rows to text, using all threads, and
/// writes them. It does not touch the run's records: if this table fails, the output is written from the records.
class RunningTable {
  public:
    /// Returns true if the format can be written before the number of rows is known.
    static bool suits(const std::filesystem::path& out);

    /// Creates no file and no thread until there are rows for several threads. `like` is as in LocalizationWriter.
    RunningTable(std::filesystem::path out, const Localizations& like, IfExists if_exists, Warn warn, int threads);
    ~RunningTable();  ///< removes the file, unless finish() has named it
    RunningTable(const RunningTable&) = delete;
    RunningTable& operator=(const RunningTable&) = delete;

    /// Waits if many rows are already waiting, so that memory does not grow with the movie.
    void append(const Localizations& rows);
    /// Call it after the last row. Gives the file its name. Returns false if there is no file; writing the output again
    /// reports the reason.
    bool finish();

  private:
    void write_all();
    void write(const Localizations& rows);
    void end_thread(bool drop);

    const std::filesystem::path out_;
    const Localizations like_;
    const IfExists if_exists_;
    const Warn warn_;
    const int threads_;
    std::unique_ptr<LocalizationWriter::Format> file_;
    std::mutex mutex_;  // guards the following members
    std::condition_variable changed_;
    Localizations waiting_;
    bool ended_ = false;   // no more rows will arrive
    bool failed_ = false;  // rows are dropped
    std::thread thread_;
};

}  // namespace glint
