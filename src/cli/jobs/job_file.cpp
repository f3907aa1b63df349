// Reads, writes and locks the file `state`.
// SPDX-License-Identifier: MIT
#include "cli/jobs/job_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

#include "glint/error.hpp"
#include "io/files/atomic_file.hpp"

namespace glint::cli {
namespace {

constexpr int supervisor_byte = 0, queue_byte = 1;

}  // namespace

const char* to_name(JobState state) {
    switch (state) {
        case JobState::queued: return "queued";
        case JobState::running: return "running";
        case JobState::done: return "done";
        case JobState::failed: return "failed";
        case JobState::cancelled: return "cancelled";
        case JobState::lost: return "lost";
        case JobState::damaged: return "damaged";
    }
    return "?";
}

JobFile::JobFile(const std::filesystem::path& path, const JobRecord& record)
    : path_(path), file_(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600)) {
    if (!file_) throw_output_error(path_, errno);
    if (::pwrite(file_.get(), &record, sizeof record, 0) != ssize_t(sizeof record)) throw_output_error(path_, errno);
    lock(F_OFD_SETLK, F_WRLCK, supervisor_byte);
    lock(F_OFD_SETLK, F_WRLCK, queue_byte);
}

std::optional<JobFile> JobFile::open(const std::filesystem::path& path, int flags) {
    Descriptor file(::open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (!file && (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == EIO))
        throw_output_error(path, errno);
    JobRecord record;
    if (!file || ::pread(file.get(), &record, sizeof record, 0) != ssize_t(sizeof record) ||
        record.magic != JobRecord::magic_number)
        return {};
    return JobFile(path, std::move(file));
}

// A read may overlap a write. Two equal reads did not, since a job has few writes.
JobRecord JobFile::read() const {
    const auto once = [this] {
        JobRecord record;
        if (::pread(file_.get(), &record, sizeof record, 0) != ssize_t(sizeof record)) throw_output_error(path_, errno);
        return record;
    };
    for (JobRecord before = once();;) {
        const JobRecord now = once();
        if (std::memcmp(&before, &now, sizeof now) == 0) return now;
        before = now;
    }
}

void JobFile::write(const JobRecord& record) const {
    constexpr std::size_t count = offsetof(JobRecord, cancelled);
    if (::pwrite(file_.get(), &record, count, 0) != ssize_t(count)) throw_output_error(path_, errno);
}

void JobFile::write_cancelled() const {
    constexpr std::uint32_t yes = 1;
    if (::pwrite(file_.get(), &yes, sizeof yes, offsetof(JobRecord, cancelled)) != ssize_t(sizeof yes))
        throw_output_error(path_, errno);
}

void JobFile::flush() const {
    if (::fdatasync(file_.get()) != 0) throw_output_error(path_, errno);
}

/// Tests or locks the byte with fcntl(). Returns whether no other process has a lock on it. Waits with F_OFD_SETLKW.
bool JobFile::lock(int command, short type, int byte) const {
    struct flock lock {};
    lock.l_type = type;
    lock.l_whence = SEEK_SET;
    lock.l_start = byte;
    lock.l_len = 1;
    int result = 0;
    do result = ::fcntl(file_.get(), command, &lock);
    while (result != 0 && errno == EINTR);
    if (result != 0)
        throw OutputError(fmt::format(
            "{} cannot be locked: {}; set XDG_STATE_HOME to a folder on a file system with locks, such as a "
            "local disk",
            path_.string(), std::strerror(errno)));
    return command != F_OFD_GETLK || lock.l_type == F_UNLCK;
}

bool JobFile::has_supervisor() const { return !lock(F_OFD_GETLK, F_RDLCK, supervisor_byte); }
void JobFile::leave_queue() const { lock(F_OFD_SETLK, F_UNLCK, queue_byte); }
void JobFile::wait_while_queued() const { lock(F_OFD_SETLKW, F_RDLCK, queue_byte); }
void JobFile::wait_for_end() const { lock(F_OFD_SETLKW, F_RDLCK, supervisor_byte); }

JobState JobFile::state(JobRecord& record) const {
    const bool lives = has_supervisor();  // read first, or a job that ends in between would seem lost
    record = read();
    if (record.ended_ns)
        return record.exit_code == 0 ? JobState::done : record.cancelled ? JobState::cancelled : JobState::failed;
    if (lives) return record.started_ns ? JobState::running : JobState::queued;
    return record.cancelled && !record.started_ns ? JobState::cancelled : JobState::lost;
}

}  // namespace glint::cli
