// The file `state` of a job: what became of it, and the locks that prove that its supervisor lives.
//
// A supervisor (supervisor.hpp) holds a lock on byte 0 for its life, and one on byte 1 until it starts the command: open file
// description locks, which the kernel drops however a process ends. So a job whose supervisor was killed, or whose machine went
// down, is told as lost, never as running, and process numbers prove nothing.
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
    failed,     ///< with another one
    cancelled,  ///< before it had ended with 0
    lost,       ///< its supervisor was killed: how the command ended is not known
    damaged,    ///< its file `state` is not one, or missing
};
const char* name_of(JobState state);
inline bool is_unfinished(JobState state) { return state == JobState::queued || state == JobState::running; }

/// In native byte order and of one size from the beginning, so that the end of a job can be recorded on a full disk. Times
/// are those of system_clock_ns(); 0: not yet.
struct JobRecord {
    static constexpr std::uint64_t magic_number = 0x31626f6a746e6c67;  // "glntjob1"

    std::uint64_t magic = magic_number;
    std::int64_t submitted_ns = 0, started_ns = 0, ended_ns = 0;
    std::int32_t supervisor = 0;  ///< its process, in pid_namespace
    std::uint32_t pid_namespace = 0;
    std::int16_t exit_code = 0;   ///< or 128 + signal
    std::uint16_t is_short = 0;   ///< whether it waits for other short ones alone (supervisor.hpp)
    std::uint32_t cancelled = 0;  ///< whether somebody has asked to: the only member that is not the supervisor's
};

class JobFile {
  public:
    /// A new file with both locks held; they pass to a child that is forked. Throws OutputError.
    JobFile(const std::filesystem::path& path, const JobRecord& record);
    /// A job's that exists; `flags` as for open(2). Nothing where there is no such file, or another one; OutputError where none
    /// can be opened now.
    static std::optional<JobFile> open(const std::filesystem::path& path, int flags);
    const std::filesystem::path& path() const { return path_; }

    // Each throws OutputError where the file system fails:
    JobRecord read() const;
    /// All but `cancelled`.
    void write(const JobRecord& record) const;
    void write_cancelled() const;
    /// To the disk.
    void flush() const;
    bool has_supervisor() const;
    /// Lets the next job of its queue go on. For the supervisor.
    void leave_queue() const;
    void wait_while_queued() const;
    void wait_for_end() const;

    /// `record` is set to what the state follows from.
    JobState state(JobRecord& record) const;

  private:
    JobFile(std::filesystem::path path, Descriptor file) : path_(std::move(path)), file_(std::move(file)) {}
    bool lock(int command, short type, int byte) const;

    std::filesystem::path path_;
    Descriptor file_;
};

}  // namespace glint::cli
