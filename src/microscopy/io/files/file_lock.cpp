// flock(2), and the meaning of its results.
// SPDX-License-Identifier: MIT
#include "io/files/file_lock.hpp"

#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>

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

}  // namespace glint
