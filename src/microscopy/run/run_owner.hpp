// Shows which run works on an output if file locks may not work: the owner rewrites a file at intervals.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <string>
#include <thread>

#include "glint/progress.hpp"

namespace glint {

/// Owns a folder of parts during its lifetime, which prevents two runs from doing the same work twice. Results do not
/// depend on it, since no run writes into another run's parts.
class RunOwner {
  public:
    struct Pace {
        double beat_s = 2;    ///< interval at which the owner shows that it is alive
        double watch_s = 10;  ///< how long an owner on another host may be silent
    };

    /// If the last owner may be alive, and only its silence can show that it is not, calls `notice` and waits. Throws
    /// OutputError if that owner is alive or nothing can be written; Cancelled after a stop.
    RunOwner(const std::filesystem::path& folder, const std::string& run, const Warn& notice, const StopFlag* stop,
             Pace pace = {2, 10});
    ~RunOwner();
    RunOwner(const RunOwner&) = delete;
    RunOwner& operator=(const RunOwner&) = delete;

    /// Throws OutputError if another run has taken the folder over.
    void check() const;

  private:
    void await_silence(const Warn& notice, const StopFlag* stop) const;
    void write(std::uint64_t beat) const;
    void keep_beating();

    std::filesystem::path path_;
    std::string name_;  ///< host, process and run
    Pace pace_;
    std::atomic<bool> lost_{false};
    std::mutex mutex_;
    std::condition_variable ended_;
    bool ending_ = false;
    std::jthread beating_;
};

}  // namespace glint
