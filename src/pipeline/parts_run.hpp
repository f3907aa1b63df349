// A run whose finished frames lie in parts: one that several processes share, or the rest of such a one.
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
#include "pipeline/outcome.hpp"
#include "pipeline/parts.hpp"
#include "pipeline/run_blocks.hpp"
#include "pipeline/run_owner.hpp"

namespace glint {

/// What one process did of it.
struct PartDone {
    FitInfo fit;
    std::int64_t frames = 0, rows = 0;
    std::exception_ptr error;  ///< what ended it early; what was finished before is in the journal, on the disk
};

/// Localizes what `next` names, at most `frames` in all, into a journal. `on_block` hears of each finished block.
PartDone run_part(Movie& movie, const Job& job, std::int64_t frames, const NextFrames& next, PartJournal& journal,
                  const std::function<void(std::int64_t frames, std::int64_t rows)>& on_block);

/// What the one process does that begins and ends the run: it owns the output, knows what is finished, and puts the
/// parts together.
class PartsRun {
  public:
    /// Takes up what an earlier run finished, the journal of a single process too, or refuses or drops it, as the
    /// options say. Throws as `localize` does before its first frame.
    PartsRun(Movie& movie, const Camera& camera, std::filesystem::path out, const Job& job);
    ~PartsRun();

    const std::string& name() const { return name_; }
    const Fingerprint& fingerprint() const { return fingerprint_; }
    std::vector<FrameRange> to_do() const { return parts_.gaps(); }
    std::int64_t finished_frames() const { return totals_.frames; }
    std::int64_t finished_rows() const { return totals_.rows; }

    /// Adds the parts that this run wrote. All frames are there: the output appears, and the parts go. Else, the partial
    /// file, and `error` is thrown with a word on what was kept.
    LocalizeResult finish(const std::vector<std::filesystem::path>& written, std::exception_ptr error);

  private:
    void take_up();
    void remove_if_empty() const;
    void remove_parts();
    void write(LocalizeResult& result);

    const MovieInfo& movie_;
    const Job& job_;
    std::filesystem::path out_;
    std::string name_ = new_run_name();
    std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
    Fingerprint fingerprint_;
    RecordFile journal_;  ///< of a run of one process, or empty: its lock is the output's
    std::unique_ptr<RunOwner> owner_;
    Parts parts_;
    Totals totals_;
    std::int64_t resumed_frames_ = 0;
};

/// `localize` where there are parts: alone, what they lack.
LocalizeResult localize_rest(Movie& movie, const Camera& camera, const std::filesystem::path& out,
                             const LocalizeOptions& options);

}  // namespace glint
