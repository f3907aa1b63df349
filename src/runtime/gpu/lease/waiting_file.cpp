// Reads and writes the marks of waiting requests.
// SPDX-License-Identifier: MIT
#include "gpu/lease/waiting_file.hpp"

#include <sys/stat.h>

#include <cerrno>

namespace glint::gpu::lease {
namespace {

constexpr const char* name = "waiting";

/// Whether this is the shared file: neither a file that only some users can write, nor something else with this name.
bool is_for_all(const struct stat& status) {
    constexpr mode_t by_all = 0666;
    return S_ISREG(status.st_mode) && (status.st_mode & by_all) == by_all && status.st_nlink == 1;
}

Descriptor open_file(const StateDir& directory, int flags) {
    // O_NONBLOCK, in case it is a FIFO, or another user holds a file lease (fcntl F_SETLEASE).
    Descriptor file(
        ::openat(directory.descriptor(), name, flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0666));
    struct stat status {};
    if (file && flags & O_CREAT) ::fchmod(file.get(), 0666);  // open() applies the umask
    if (!file || ::fstat(file.get(), &status) != 0 || !is_for_all(status)) return {};
    return file;
}

off_t place_of(const WaitingMark& mark) {
    return off_t((mark.uid * 31u + mark.number) % std::tuple_size_v<WaitingMarks> * sizeof mark);
}

}  // namespace

std::optional<std::uint64_t> waiting_touched(const StateDir& directory) {
    struct stat status {};
    if (::fstatat(directory.descriptor(), name, &status, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT ? std::optional<std::uint64_t>(0) : std::nullopt;
    if (!is_for_all(status)) return {};
    return std::uint64_t(status.st_mtim.tv_sec) * 1'000'000'000u + std::uint64_t(status.st_mtim.tv_nsec);
}

WaitingMarks waiting_marks(const StateDir& directory) {
    WaitingMarks marks{};
    if (const Descriptor file = open_file(directory, O_RDONLY))
        if (::pread(file.get(), marks.data(), sizeof marks, 0) < 0) marks = {};
    return marks;
}

// Without O_CREAT at first: in a sticky directory the kernel refuses it on another user's file (fs.protected_regular).
void WaitingFile::show(const Slot& waiting) {
    const WaitingMark mark{waiting.name().uid, waiting.name().number, waiting.record.occupancy, 1};
    struct stat status {};
    if (!file_ || ::fstat(file_.get(), &status) != 0 || !is_for_all(status)) {
        file_ = open_file(*directory_, O_WRONLY);
        if (!file_ && errno == ENOENT) file_ = open_file(*directory_, O_WRONLY | O_CREAT | O_EXCL);
        if (!file_ && errno == EEXIST) file_ = open_file(*directory_, O_WRONLY);  // another process was faster
    }
    // If nothing can be written, only the time shows that a request waits.
    if (!file_ || ::pwrite(file_.get(), &mark, sizeof mark, place_of(mark)) != ssize_t(sizeof mark))
        ::utimensat(directory_->descriptor(), name, nullptr, AT_SYMLINK_NOFOLLOW);
}

}  // namespace glint::gpu::lease
