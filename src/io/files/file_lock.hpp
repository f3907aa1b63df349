// Locks on files by flock(2): who holds one, holds it until its process has ended, however that ends.
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>

namespace glint {

enum class FileLock {
    taken,
    held,         ///< by another open descriptor, of this or another process
    unsupported,  ///< the file system knows no locks (some network file systems): nobody must be kept from working
};

/// Never waits. The lock goes with the descriptor.
FileLock lock_file(int descriptor);

/// Whether `path` still names the file that is open: another process may have removed or replaced it meanwhile.
bool still_names(const std::filesystem::path& path, int descriptor);

}  // namespace glint
