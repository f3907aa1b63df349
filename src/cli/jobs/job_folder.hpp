// Where a user's jobs on this machine are: $XDG_STATE_HOME/glint/jobs/HOST (~/.local/state where that is not set), a folder for
// each, named by its number:
//
//     state    job_file.hpp
//     command  the folder in which it runs and the words of the command, a zero byte behind each
//     log      what the command wrote to stdout and stderr
//
// A folder is complete, and its supervisor lives, before it has its number (JobFolder::publish). Not in the lease directory,
// which is of memory and which systemd clears of a user's files when the user logs out.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "cli/jobs/job_file.hpp"

namespace glint::cli {

/// What a job does.
struct JobCommand {
    std::filesystem::path folder;  ///< in which it runs
    std::vector<std::string> words;
};

/// Removed at the end, unless it has another name then.
struct TemporaryJobFolder {
    explicit TemporaryJobFolder(std::filesystem::path where) : path(std::move(where)) {}
    TemporaryJobFolder(TemporaryJobFolder&& other) noexcept : path(std::exchange(other.path, {})) {}
    ~TemporaryJobFolder();
    std::filesystem::path path;
};

class JobFolder {
  public:
    /// Makes nothing. Throws OutputError where others than this user can enter the folder.
    JobFolder();

    /// The numbers of all jobs, ascending.
    std::vector<std::int64_t> numbers() const;
    /// The file of one; nothing where there is no such job. Throws OutputError.
    std::optional<JobFile> find(std::int64_t number, int flags) const;
    /// Whether there is a folder of this number, whatever it holds.
    bool has(std::int64_t number) const;
    std::filesystem::path log_of(std::int64_t number) const { return path_ / std::to_string(number) / "log"; }
    /// No words where it cannot be read.
    JobCommand command_of(std::int64_t number) const;

    /// A job without a number yet; what publish() has not taken away is removed with it.
    struct New {
        TemporaryJobFolder folder;
        JobFile state;
        Descriptor log;  ///< open for appending
    };
    /// Makes what is missing of the folders. Throws OutputError.
    New prepare(const JobCommand& command) const;
    /// Gives it the number behind the last. Numbers are unique, and not used again. Throws OutputError.
    std::int64_t publish(const New& job) const;

    /// Removes jobs that ended long ago, or before many others, and what killed submits have left. The last number stays, so that
    /// it is not used again.
    void expire() const noexcept;

  private:
    void require_private() const;

    std::filesystem::path path_;
};

constexpr int job_days = 30;             ///< how long an ended job is kept
constexpr std::size_t most_jobs = 1000;  ///< ended ones that are kept

}  // namespace glint::cli
