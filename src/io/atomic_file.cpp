// Temporary name, fsync, rename; and errno in words that help.
// SPDX-License-Identifier: MIT
#include "io/atomic_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "glint/error.hpp"

namespace glint {
namespace {

namespace fs = std::filesystem;

fs::path folder_of(const fs::path& target) {
    return target.parent_path().empty() ? fs::path(".") : target.parent_path();
}

fs::path without_link(const fs::path& path) {
    std::error_code failed;
    if (!fs::is_symlink(path, failed)) return path;
    const fs::path real = fs::weakly_canonical(path, failed);
    return failed ? path : real;
}

std::string cause_and_way_out(const fs::path& target, int error) {
    const std::string folder = folder_of(target).string();
    switch (error) {
        case 0: return "the write failed (a full disk, or a library's limit): free some space or write elsewhere";
        case ENOSPC:
        case EDQUOT: return fmt::format("the disk or quota is full: free some space in {} or write elsewhere", folder);
        case EFBIG: return "the file would exceed the size limit: raise it (ulimit -f) or write elsewhere";
        case ENOENT: return fmt::format("the folder {0} does not exist: create it with mkdir -p {0}", folder);
        case ENOTDIR: return fmt::format("{} is not a folder: choose another place", folder);
        case EROFS: return fmt::format("{} is on a read-only file system: write elsewhere", folder);
        case EACCES:
        case EPERM:
            return fmt::format("no permission to write in {}: choose another folder or change its permissions", folder);
        case EISDIR: return "there is a folder of that name: give a file name";
        case ENAMETOOLONG: return "the name is too long: give a shorter one";
        default: return fmt::format("{}: mend this or write elsewhere", std::strerror(error));
    }
}

/// Tries `.NAME.part-PID`, then `.NAME.part-PID-1` and so on: a killed run may have left one.
int create_temporary(const fs::path& target, fs::path& temporary) {
    const std::string name = target.filename().string().substr(0, 200);
    for (int attempt = 0; attempt < 1000; ++attempt) {
        const std::string suffix = attempt > 0 ? fmt::format("-{}", attempt) : "";
        temporary = folder_of(target) / fmt::format(".{}.part-{}{}", name, ::getpid(), suffix);
        const int descriptor = ::open(temporary.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (descriptor >= 0 || errno != EEXIST) return descriptor;
    }
    return -1;
}

/// File systems that cannot sync a file say EINVAL; that is no failure to write.
bool synced(int descriptor) { return ::fsync(descriptor) == 0 || errno == EINVAL || errno == ENOTSUP; }

/// Makes the rename itself durable. Best effort: the file is complete either way.
void sync_folder(const fs::path& folder) {
    const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) return;
    ::fsync(descriptor);
    ::close(descriptor);
}

}  // namespace

AtomicFile::AtomicFile(const fs::path& target) : target_(without_link(target)) {
    std::error_code failed;
    const fs::file_status status = fs::status(target_, failed);
    if (status.type() == fs::file_type::none) throw_output_error(target_, failed.value());
    if (fs::is_directory(status) || !target_.has_filename()) throw_output_error(target_, EISDIR);
    if (fs::exists(status) && !fs::is_regular_file(status))
        throw OutputError(
            fmt::format("cannot write {}: it is a device or pipe, and output is first written beside "
                        "its place: give a file name",
                        target_.string()));
    descriptor_ = create_temporary(target_, temporary_);
    if (descriptor_ < 0) throw_output_error(target_, errno);
}

AtomicFile::~AtomicFile() {
    if (descriptor_ < 0) return;
    ::close(descriptor_);
    ::unlink(temporary_.c_str());
}

void AtomicFile::write(const void* bytes, std::size_t count) {
    const char* next = static_cast<const char*>(bytes);
    while (count > 0) {
        const ssize_t written = ::write(descriptor_, next, std::min<std::size_t>(count, std::size_t(1) << 30));
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) throw_output_error(target_, written < 0 ? errno : ENOSPC);
        next += written;
        count -= std::size_t(written);
    }
}

void AtomicFile::write_over(std::size_t offset, const void* bytes, std::size_t count) {
    const char* next = static_cast<const char*>(bytes);
    while (count > 0) {
        const ssize_t written = ::pwrite(descriptor_, next, count, off_t(offset));
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) throw_output_error(target_, written < 0 ? errno : ENOSPC);
        next += written;
        offset += std::size_t(written);
        count -= std::size_t(written);
    }
}

void AtomicFile::commit() {
    if (descriptor_ < 0) throw OutputError(fmt::format("{} is committed already", target_.string()));
    if (!synced(descriptor_)) throw_output_error(target_, errno);
    if (::rename(temporary_.c_str(), target_.c_str()) != 0) throw_output_error(target_, errno);
    ::close(descriptor_);
    descriptor_ = -1;
    sync_folder(folder_of(target_));
}

void throw_output_error(const fs::path& target, int error) {
    throw OutputError(fmt::format("cannot write {}: {}", target.string(), cause_and_way_out(target, error)));
}

}  // namespace glint
