// A run: one movie to one output file, by one process or several, possibly with interruptions.
// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "glint/localize.hpp"
#include "pipeline/lone_spots.hpp"
#include "pipeline/run_blocks.hpp"
#include "run/finished_frames.hpp"
#include "run/output.hpp"
#include "run/run_owner.hpp"
#include "run/running_table.hpp"

namespace glint {

/// The contribution of one process to a run.
struct PartDone {
    FitInfo fit;
    std::exception_ptr error;       ///< the error that ended it early
    std::future<void> gpus_closed;  ///< see BlocksDone
};

/// Localizes the frames that `next` names, at most `frames` in all (unknown_end: number unknown). `sink` receives each
/// finished block in that order. An exception of this function, `next` or `sink` is stored in the result.
PartDone run_part(Movie& movie, const LocalizeJob& job, std::int64_t frames, const NextFrames& next,
                  const std::function<void(BlockResult)>& sink);

/// Like localize_frames(), for a job that was prepared earlier, possibly for more frames of the movie.
Localizations localize_frames(Movie& movie, const Camera& camera, const LocalizeJob& job, LocalizeResult* result);

/// Creates a file for the records of one process. Throws OutputError, also if the file exists.
std::unique_ptr<RecordFile> new_part(const std::filesystem::path& path, const Fingerprint& fingerprint,
                                     const TableLayout& layout);

enum class Writers {
    this_process,  ///< records are written to OUT.journal, or to a part if an earlier run left unfinished parts
    several        ///< each process writes its own part (new_part)
};

/// Used by the one process that begins and ends a run. It owns the output, knows the finished frames, and writes the
/// result. Finished blocks are records on disk, so that a run that was stopped or killed can be resumed.
class Run {
  public:
    /// Adopts, rejects or drops the records of earlier runs, depending on the options. Movie, camera and job must
    /// outlive it. Throws like `localize` before its first frame.
    Run(Movie& movie, const Camera& camera, std::filesystem::path out, LocalizeJob& job, Writers writers);
    ~Run();
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;

    const std::string& name() const { return name_; }
    const Fingerprint& fingerprint() const { return fingerprint_; }
    /// Returns the unfinished frames. The last range ends at unknown_end while no end is known.
    std::vector<FrameRange> to_do() const { return finished_.gaps(); }
    std::int64_t finished_frames() const { return totals_.frames; }
    std::int64_t finished_rows() const { return totals_.rows; }

    /// With Writers::this_process: records a finished block. Throws OutputError.
    void append(const BlockResult& block);
    /// Sets the end of a movie that was unknown when the run began; the movie's info must contain it by now.
    void end_at(std::int64_t frames);

    /// Ends the run. `written`: the parts of all processes; `error`: what ended the work early, if anything. If all
    /// frames are finished, creates the output and removes the records. Otherwise creates the partial file, keeps the
    /// records, and throws `error` with a note on what was kept.
    LocalizeResult finish(const std::vector<std::filesystem::path>& written, std::exception_ptr error);
    /// Ends the run without a result. Removes its records, and the partial file of the run that it resumed.
    void give_up() { remove_records(); }

  private:
    void take_up();
    void open_records();
    void begin_table();
    IfExists if_output_exists() const;
    void record(const BlockResult& block);
    void write(LocalizeResult& result);
    void remove_records();
    std::filesystem::path kept_in() const;

    Movie& movie_;
    const Camera& camera_;
    LocalizeJob& job_;
    std::filesystem::path out_;
    std::string name_;
    std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
    Fingerprint fingerprint_;
    bool in_parts_ = false;
    RecordFile journal_;                   ///< its lock guards the output; empty if all records are in parts
    std::uint64_t journal_end_ = 0;        ///< where the adopted records end
    std::unique_ptr<RunOwner> owner_;      ///< of the folder of parts
    std::unique_ptr<RecordFile> part_;     ///< the part of this process, if it writes one
    std::unique_ptr<RunningTable> table_;  ///< the table of all rows, if it is written during the run
    FinishedFrames finished_;
    Totals totals_;
    std::int64_t resumed_frames_ = 0;
    IfExists if_partial_exists_ = IfExists::refuse;
};

}  // namespace glint
