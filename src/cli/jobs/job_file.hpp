// The file `state` of a job: its record, and the locks that prove that its supervisor is running.
//
// A supervisor (supervisor.hpp) holds a lock on byte 0 until it ends, and one on byte 1 until it starts the command.
// They are open file description locks, which the kernel drops however a process ends. If the supervisor was killed, or
// the machine went down, the job is therefore lost and never seems to run. Process numbers are not needed as a proof.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "gpu/lease/descriptor.hpp"

namespace glint::cli {

using gpu::lease::Descriptor;

enum class JobState {
    queued,
    running,
    done,       ///< the command has ended with exit code 0
    failed,     ///< the command has ended with another exit code
    cancelled,  ///< before the command had ended with exit code 0
    lost,       ///< its supervisor was killed, so the end of the command is unknown
    damaged,    ///< its file `state` is invalid or missing
};
const char* to_name(JobState state);
inline bool is_unfinished(JobState state) { return state == JobState::queued || state == JobState::running; }

/// The content of the file, in native byte order. Its size never changes, so that the end of a job can be recorded on a
/// full disk. Times are those of system_clock_ns(); 0 if not yet reached.
struct JobRecord {
    static constexpr std::uint64_t magic_number = 0x31626f6a746e6c67;  // "glntjob1"

    std::uint64_t magic = magic_number;
    std::int64_t submitted_ns = 0, started_ns = 0, ended_ns = 0;
    std::int32_t supervisor = 0;  ///< its process number, in pid_namespace
    std::uint32_t pid_namespace = 0;
    std::int16_t exit_code = 0;   ///< or 128 + signal
    std::uint16_t is_short = 0;   ///< whether it waits only for other short jobs (supervisor.hpp)
    std::uint32_t cancelled = 0;  ///< whether a cancel was requested; the only member that other processes write
};

class JobFile {
  public:
    /// Creates a file and holds both locks. A forked child inherits them. Throws OutputError.
    JobFile(const std::filesystem::path& path, const JobRecord& record);
    /// Opens the file of an existing job; `flags` as for open(2). Empty if there is no such file, or if it is no job
    /// file. Throws OutputError if no file can be opened now.
    static std::optional<JobFile> open(const std::filesystem::path& path, int flags);
    const std::filesystem::path& path() const { return path_; }

    // Each throws OutputError if the file system fails:
    JobRecord read() const;
    /// Writes all members except `cancelled`.
    void write(const JobRecord& record) const;
    void write_cancelled() const;
    /// Flushes the file to the disk.
    void flush() const;
    bool has_supervisor() const;
    /// Lets the next job of the queue continue. Only the supervisor calls it.
    void leave_queue() const;
    void wait_while_queued() const;
    void wait_for_end() const;

    /// Returns the state, and sets `record` to the record from which it follows.
    JobState state(JobRecord& record) const;

  private:
    JobFile(std::filesystem::path path, Descriptor file) : path_(std::move(path)), file_(std::move(file)) {}
    bool lock(int command, short type, int byte) const;

    std::filesystem::path path_;
    Descriptor file_;
};

}  // namespace glint::cli
