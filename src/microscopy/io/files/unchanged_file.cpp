// Compares what the system says of a file with what it said before.
// SPDX-License-Identifier: MIT
#include "io/files/unchanged_file.hpp"

#include <fmt/format.h>

#include "glint/error.hpp"

namespace glint {

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
