// The table of a run, written while the run is under way.
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

/// A table written during the run, beside the output's place. A separate thread converts rows to text, with all
/// threads, and writes them. The run's own records are not touched: if this table fails, the output is written from
/// the records.
class RunningTable {
  public:
    /// Whether the format can be written before it is known how many rows come.
    static bool suits(const std::filesystem::path& out);

    /// Makes no file and no thread until there are rows for several threads. `like`: LocalizationWriter's.
    RunningTable(std::filesystem::path out, const Localizations& like, IfExists if_exists, Warn warn, int threads);
    ~RunningTable();  ///< leaves no file, but for that of finish()
    RunningTable(const RunningTable&) = delete;
    RunningTable& operator=(const RunningTable&) = delete;

    /// Waits where many rows wait already, so that memory does not grow with the movie.
    void append(const Localizations& rows);
    /// All rows came: gives the file its name. False: there is none, and whoever writes it will learn why.
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
    std::mutex mutex_;  // guards the rest
    std::condition_variable changed_;
    Localizations waiting_;
    bool ended_ = false;   // no more rows come
    bool failed_ = false;  // rows are dropped
    std::thread thread_;
};

}  // namespace glint
