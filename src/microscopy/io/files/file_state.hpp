// What other processes do to a file: whether one holds its lock, has replaced it, or writes it while it is read.
// SPDX-License-Identifier: MIT
#pragma once

#include <sys/stat.h>

#include <filesystem>

namespace glint {

enum class FileLock {
    taken,
    held,         ///< by another open descriptor, of this or another process
    unsupported,  ///< the file system has no locks (some network file systems): writers proceed without
};

/// flock(2). Never waits. The kernel releases the lock when the descriptor is closed or its process ends, however
/// it ends.
FileLock lock_file(int descriptor);

/// Whether `path` still names the open file: another process may have removed or replaced it meanwhile.
bool still_names(const std::filesystem::path& path, int descriptor);

/// A file that is read several times, and must not change meanwhile.
class UnchangedFile {
  public:
    /// Records the file's present state. If it does not exist, opening it reports that.
    explicit UnchangedFile(const std::filesystem::path& path);
    /// Throws InputError where the name leads to another file, or its size or the time of its last change is another.
    void require() const;
    [[noreturn]] void throw_changed() const;

  private:
    std::filesystem::path path_;
    struct stat facts_ {};
};

}  // namespace glint
