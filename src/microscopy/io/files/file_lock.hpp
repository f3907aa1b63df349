// File locks by flock(2): the kernel releases a lock when the process that holds it ends, however it ends.
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>

namespace glint {

enum class FileLock {
    taken,
    held,         ///< by another open descriptor, of this or another process
    unsupported,  ///< the file system has no locks (some network file systems): writers proceed without
};

/// Never waits. Closing the descriptor releases the lock.
FileLock lock_file(int descriptor);

/// Whether `path` still names the open file: another process may have removed or replaced it meanwhile.
bool still_names(const std::filesystem::path& path, int descriptor);

}  // namespace glint
