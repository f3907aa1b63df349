// Locks files with flock(2), and compares a file's state with an earlier one.
// SPDX-License-Identifier: MIT
#include "io/files/file_state.hpp"

#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>

#include "glint/error.hpp"

namespace glint {

FileLock lock_file(int descriptor) {
    int result = 0;
    do result = ::flock(descriptor, LOCK_EX | LOCK_NB);
    while (result != 0 && errno == EINTR);
    if (result == 0) return FileLock::taken;
    return errno == EWOULDBLOCK ? FileLock::held : FileLock::unsupported;
}

bool still_names(const std::filesystem::path& path, int descriptor) {
    struct stat opened {
    }, named{};
    return ::fstat(descriptor, &opened) == 0 && ::stat(path.c_str(), &named) == 0 && opened.st_ino == named.st_ino &&
           opened.st_dev == named.st_dev;
}

UnchangedFile::UnchangedFile(const std::filesystem::path& path) : path_(path) {
    if (::stat(path_.c_str(), &facts_) != 0) facts_ = {};
}

void UnchangedFile::require() const {
    struct stat now {};
    if (::stat(path_.c_str(), &now) != 0 || now.st_dev != facts_.st_dev || now.st_ino != facts_.st_ino ||
        now.st_size != facts_.st_size || now.st_mtim.tv_sec != facts_.st_mtim.tv_sec ||
        now.st_mtim.tv_nsec != facts_.st_mtim.tv_nsec)
        throw_changed();
}

void UnchangedFile::throw_changed() const {
    throw InputError(fmt::format("{} changed while it was read; try again when nothing writes it", path_.string()));
}

}  // namespace glint
