// A file that is read several times, and must not change meanwhile.
// SPDX-License-Identifier: MIT
#pragma once

#include <sys/stat.h>

#include <filesystem>

namespace glint {

class UnchangedFile {
  public:
    /// Remembers the file as it is now; one that does not exist is told by who opens it.
    explicit UnchangedFile(const std::filesystem::path& path);
    /// Throws InputError where the name leads to another file, or its size or the time of its last change is another.
    void require() const;
    [[noreturn]] void throw_changed() const;

  private:
    std::filesystem::path path_;
    struct stat facts_ {};
};

}  // namespace glint
