// Temporary file, fsync, rename; and errno as messages with a remedy.
// SPDX-License-Identifier: MIT
#include "io/files/atomic_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "glint/error.hpp"
#include "io/files/file_state.hpp"

namespace glint {
namespace {

namespace fs = std::filesystem;

fs::path folder_of(const fs::path& target) {
    return target.parent_path().empty() ? fs::path(".") : target.parent_path();
}

std::string cause_and_way_out(const fs::path& target, int error) {
    const std::string folder = folder_of(target).string();
    std::error_code unknown;
    if (error == ENOENT && fs::is_directory(folder, unknown))
        return fmt::format("no file can be made in {}: choose another folder", folder);
    switch (error) {
        case 0: return "the write failed (a full disk, or a library's limit): free some space or write elsewhere";
        case ENOSPC:
        case EDQUOT: return fmt::format("the disk or quota is full: free some space in {} or write elsewhere", folder);
        case EFBIG: return "the file would exceed the size limit: raise it (ulimit -f) or write elsewhere";
        case EMFILE:
        case ENFILE: return fmt::format("{}: {}", std::strerror(error), more_descriptors);
        case ENOENT: return fmt::format("the folder {0} does not exist: create it with mkdir -p {0}", folder);
        case ENOTDIR: return fmt::format("{} is not a folder: choose another place", folder);
        case EROFS: return fmt::format("{} is on a read-only file system: write elsewhere", folder);
        case EACCES:
        case EPERM:
            return fmt::format("no permission to write in {}: choose another folder or change its permissions", folder);
        case EEXIST: return "it appeared while this was computed, with other contents: move it away or write elsewhere";
        case EISDIR: return "there is a folder of that name: give a file name";
        case ENAMETOOLONG: return "the name is too long: give a shorter one";
        default: return fmt::format("{}: mend this or write elsewhere", std::strerror(error));
    }
}

std::string temporary_start(const fs::path& target) {
    return fmt::format(".{}.part-", target.filename().string().substr(0, 200));
}

/// Returns true if the file is synced. File systems that cannot sync return EINVAL or ENOTSUP, which is not a failed
/// write.
bool synced(int descriptor) { return ::fsync(descriptor) == 0 || errno == EINVAL || errno == ENOTSUP; }

/// Makes the rename durable. Returns 0 or the errno.
int sync_folder(const fs::path& folder) {
    const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) return 0;  // a folder that is writable but not readable
    const int error = synced(descriptor) ? 0 : errno;
    ::close(descriptor);
    return error;
}

/// Returns 0 or the errno: EEXIST if `to` exists. Falls back to a hard link, which cannot replace `to` either.
int rename_without_replacing(const fs::path& from, const fs::path& to) {
    if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return 0;
    if (errno != EINVAL && errno != ENOSYS && errno != ENOTSUP) return errno;
    if (::link(from.c_str(), to.c_str()) == 0) return ::unlink(from.c_str()) == 0 ? 0 : errno;
    if (errno != EPERM && errno != ENOSYS && errno != ENOTSUP) return errno;
    struct stat there {};
    if (::lstat(to.c_str(), &there) == 0) return EEXIST;
    return ::rename(from.c_str(), to.c_str()) == 0 ? 0 : errno;
}

/// Reads until it has `count` bytes or the file ends. Returns -1 after an error.
ssize_t read_fully(int descriptor, std::uint64_t offset, char* to, std::size_t count) {
    std::size_t done = 0;
    while (done < count) {
        const ssize_t got = ::pread(descriptor, to + done, count - done, off_t(offset + done));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return -1;
        if (got == 0) break;
        done += std::size_t(got);
    }
    return ssize_t(done);
}

bool has_same_bytes(int descriptor, const fs::path& other) {
    const int there = ::open(other.c_str(), O_RDONLY | O_CLOEXEC);
    if (there < 0) return false;
    std::vector<char> mine(std::size_t(1) << 20), theirs(mine.size());
    bool same = true;
    for (std::uint64_t offset = 0; same;) {
        const ssize_t a = read_fully(descriptor, offset, mine.data(), mine.size());
        const ssize_t b = read_fully(there, offset, theirs.data(), theirs.size());
        same = a >= 0 && a == b && std::memcmp(mine.data(), theirs.data(), std::size_t(a)) == 0;
        if (a <= 0) break;
        offset += std::uint64_t(a);
    }
    ::close(there);
    return same;
}

/// Throws if the target is a folder or a device.
void require_file_name(const fs::path& target) {
    std::error_code failed;
    const fs::file_status status = fs::status(target, failed);
    if (status.type() == fs::file_type::none) throw_output_error(target, failed.value());
    if (fs::is_directory(status) || !target.has_filename()) throw_output_error(target, EISDIR);
    if (fs::exists(status) && !fs::is_regular_file(status))
        throw OutputError(
            fmt::format("cannot write {}: it is a device or pipe, and output is first written beside "
                        "its place: give a file name",
                        target.string()));
}

}  // namespace

AtomicFile::AtomicFile(const fs::path& target, IfExists if_exists)
    : target_(without_link(target)), if_exists_(if_exists) {
    require_file_name(target_);
    remove_leftovers(target_);
    create();
    keep_permissions();
}

AtomicFile::~AtomicFile() {
    if (descriptor_ < 0) return;
    if (!placed_) ::unlink(temporary_.c_str());
    ::close(descriptor_);
}

/// Until the new file is locked, another process may remove it as a leftover. It is then created again.
void AtomicFile::create() {
    const std::string start = temporary_start(target_) + std::to_string(::getpid());
    for (int attempt = 0; attempt < 1000; ++attempt) {
        temporary_ = folder_of(target_) / (attempt > 0 ? fmt::format("{}-{}", start, attempt) : start);
        descriptor_ = ::open(temporary_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (descriptor_ < 0 && errno == EEXIST) continue;
        if (descriptor_ < 0) throw_output_error(target_, errno);
        if (lock_file(descriptor_) != FileLock::held && still_names(temporary_, descriptor_)) return;
        ::close(std::exchange(descriptor_, -1));
    }
    throw_output_error(target_, EEXIST);
}

/// Copies owner and permissions as far as possible: only root can change a file's owner, and some file systems have no
/// permissions.
void AtomicFile::keep_permissions() const {
    struct stat there {};
    if (::stat(target_.c_str(), &there) != 0) return;
    const bool given = ::fchown(descriptor_, there.st_uid, there.st_gid) == 0;
    const bool others_group = !given && there.st_gid != ::getegid();
    ::fchmod(descriptor_, there.st_mode & (others_group ? 0707 : 0777));
}

void AtomicFile::fail(int error) {
    if (failed_ == 0) failed_ = error;
    throw_output_error(target_, error);
}

void AtomicFile::write(const void* bytes, std::size_t count) {
    write_at(size_, bytes, count);
    check();
}

/// Starts writing the file's new bytes to the disk in the background, so that the final fsync finds little left. Only a
/// hint, whose result is ignored: the fsync reports failures.
void AtomicFile::begin_to_flush() noexcept {
    constexpr std::uint64_t enough = std::uint64_t(16) << 20;
    if (size_ - flushing_ < enough) return;
    ::sync_file_range(descriptor_, off_t(flushing_), off_t(size_ - flushing_), SYNC_FILE_RANGE_WRITE);
    flushing_ = size_;
}

void AtomicFile::write_over(std::size_t offset, const void* bytes, std::size_t count) {
    write_at(offset, bytes, count);
    check();
}

void AtomicFile::write_at(std::uint64_t offset, const void* bytes, std::size_t count) noexcept {
    const char* next = static_cast<const char*>(bytes);
    while (count > 0 && failed_ == 0) {
        const ssize_t written =
            ::pwrite(descriptor_, next, std::min<std::size_t>(count, std::size_t(1) << 30), off_t(offset));
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) {
            failed_ = written < 0 ? errno : ENOSPC;
            return;
        }
        next += written, offset += std::uint64_t(written), count -= std::size_t(written);
        size_ = std::max(size_, offset);
    }
    begin_to_flush();
}

void AtomicFile::resize(std::uint64_t bytes) noexcept {
    if (failed_ != 0 || bytes == size_) return;
    if (::ftruncate(descriptor_, off_t(bytes)) != 0)
        failed_ = errno;
    else
        size_ = bytes;
}

std::size_t AtomicFile::read_at(std::uint64_t offset, void* bytes, std::size_t count) noexcept {
    const ssize_t got = failed_ == 0 ? read_fully(descriptor_, offset, static_cast<char*>(bytes), count) : 0;
    if (got < 0) failed_ = errno;
    return got < 0 ? 0 : std::size_t(got);
}

void AtomicFile::check() const {
    if (failed_ != 0) throw_output_error(target_, failed_);
}

/// A network file system may report a failed write only at close, so a duplicate is closed. The original descriptor
/// keeps the lock until the rename; without it, another process would remove the file as a leftover.
void AtomicFile::finish() {
    check();
    if (placed_) throw OutputError(fmt::format("{} is committed already", target_.string()));
    if (!synced(descriptor_)) fail(errno);
    const int duplicate = ::fcntl(descriptor_, F_DUPFD_CLOEXEC, 0);
    if (duplicate < 0 || ::close(duplicate) != 0) fail(errno);
}

/// Gives the file its final name. Returns false if a file with the same bytes has that name already.
bool AtomicFile::place() {
    bool placed = true;
    if (if_exists_ == IfExists::replace) {
        if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail(errno);
    } else if (const int error = rename_without_replacing(temporary_, target_)) {
        if (error != EEXIST || !has_same_bytes(descriptor_, target_)) fail(error);
        if (::unlink(temporary_.c_str()) != 0) fail(errno);
        placed = false;
    }
    placed_ = true;
    return placed;
}

void AtomicFile::settle() {
    if (::close(std::exchange(descriptor_, -1)) != 0) fail(errno);
    if (const int error = sync_folder(folder_of(target_))) fail(error);
}

void AtomicFile::commit() {
    finish();
    place();
    settle();
}

fs::path without_link(const fs::path& path) {
    fs::path end = path;
    std::error_code failed;
    for (int link = 0; link < 40 && fs::is_symlink(end, failed); ++link) {  // 40 links, as the kernel follows
        const fs::path target = fs::read_symlink(end, failed);
        if (failed) return path;
        end = target.is_absolute() ? target : end.parent_path() / target;
    }
    return end;
}

void remove_leftovers(const fs::path& target) {
    const std::string start = temporary_start(target);
    std::error_code none;
    for (fs::directory_iterator entry(folder_of(target), none), end; !none && entry != end; entry.increment(none)) {
        if (!entry->path().filename().string().starts_with(start)) continue;
        const int descriptor = ::open(entry->path().c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (descriptor < 0) continue;
        if (lock_file(descriptor) == FileLock::taken) ::unlink(entry->path().c_str());
        ::close(descriptor);
    }
}

void require_writable(const fs::path& path) {
    const fs::path target = without_link(path);
    require_file_name(target);
    const fs::path inside = folder_of(target) / ".";  // the dot makes the path invalid if it is a file
    if (::faccessat(AT_FDCWD, inside.c_str(), W_OK | X_OK, AT_EACCESS) != 0) throw_output_error(target, errno);
}

void throw_output_error(const fs::path& target, int error) {
    throw OutputError(fmt::format("cannot write {}: {}", target.string(), cause_and_way_out(target, error)));
}

}  // namespace glint
