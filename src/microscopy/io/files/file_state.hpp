// Effects of other processes on a file: whether one holds its lock, has replaced it, or writes it while it is read.
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

/// Locks with flock(2), without waiting. The kernel releases the lock when the descriptor is closed or its process
/// ends, however it ends.
FileLock lock_file(int descriptor);

/// Returns true if `path` still names the open file. Another process may have removed or replaced it.
bool still_names(const std::filesystem::path& path, int descriptor);

/// A file that is read several times and must not change in between.
class UnchangedFile {
  public:
    /// Records the file's present state. If it does not exist, opening it reports that.
    explicit UnchangedFile(const std::filesystem::path& path);
    /// Throws InputError if the name leads to another file, or if the file's size or modification time has changed.
    void require() const;
    [[noreturn]] void throw_changed() const;

  private:
    std::filesystem::path path_;
    struct stat facts_ {};
};

}  // namespace glint
