// The folder of a user's jobs on this machine: $XDG_STATE_HOME/glint/jobs/HOST (~/.local/state if that is not set).
// Each job has a folder, named by its number:
//
//     state    job_file.hpp
//     command  the folder in which it runs and the words of the command, each followed by a zero byte
//     log      the output of the command, stdout and stderr
//
// A folder gets its number when it is complete and its supervisor is running (JobFolder::publish). The jobs are not in
// the lease directory: that is in memory, and systemd removes a user's files from it when the user logs out.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "cli/jobs/job_file.hpp"

namespace glint::cli {

/// The command of a job.
struct JobCommand {
    std::filesystem::path folder;  ///< working directory of the command
    std::vector<std::string> words;
};

/// A folder that the destructor removes, unless it was renamed.
struct TemporaryJobFolder {
    explicit TemporaryJobFolder(std::filesystem::path where) : path(std::move(where)) {}
    TemporaryJobFolder(TemporaryJobFolder&& other) noexcept : path(std::exchange(other.path, {})) {}
    ~TemporaryJobFolder();
    std::filesystem::path path;
};

class JobFolder {
  public:
    /// Creates nothing. Throws OutputError if other users can enter the folder.
    JobFolder();

    /// Returns the numbers of all jobs, ascending.
    std::vector<std::int64_t> numbers() const;
    /// Returns the file of a job; empty if there is no such job. Throws OutputError.
    std::optional<JobFile> find(std::int64_t number, int flags) const;
    /// Returns whether there is a folder with this number, whatever it contains.
    bool has(std::int64_t number) const;
    std::filesystem::path log_of(std::int64_t number) const { return path_ / std::to_string(number) / "log"; }
    /// Returns the command of a job, without words if it cannot be read.
    JobCommand command_of(std::int64_t number) const;

    /// A job without a number. Its destructor removes the folder unless publish() has renamed it.
    struct New {
        TemporaryJobFolder folder;
        JobFile state;
        Descriptor log;  ///< open for appending
    };
    /// Creates the folder of a job, and missing folders above. Throws OutputError.
    New prepare(const JobCommand& command) const;
    /// Renames the folder to the next number, and returns that. Numbers are unique and never reused. Throws
    /// OutputError.
    std::int64_t publish(const New& job) const;

    /// Removes jobs that ended long ago or before many others, and the remains of killed submits. Keeps the last
    /// number, so that it is not reused.
    void expire() const noexcept;

  private:
    void require_private() const;

    std::filesystem::path path_;
};

constexpr int job_days = 30;            ///< how long an ended job is kept
constexpr std::size_t max_jobs = 1000;  ///< maximum number of ended jobs that are kept

}  // namespace glint::cli
