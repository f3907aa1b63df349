// Reads /proc/PID/stat.
// SPDX-License-Identifier: MIT
#include "gpu/lease/stopped.hpp"

#include <sys/stat.h>

#include <cctype>
#include <fstream>
#include <iterator>
#include <string>

namespace glint::gpu::lease {

bool is_stopped(std::uint32_t pid, std::uint32_t uid) {
    const std::string folder = "/proc/" + std::to_string(pid);
    struct stat owner {};
    if (::stat(folder.c_str(), &owner) != 0 || owner.st_uid != uid) return false;
    std::ifstream file(folder + "/stat");
    const std::string words(std::istreambuf_iterator<char>(file), {});  // PID (NAME) STATE ...
    const std::size_t close = words.rfind(')');                         // the name may have brackets of its own
    return close != words.npos && close + 2 < words.size() && std::toupper(words[close + 2]) == 'T';
}

}  // namespace glint::gpu::lease
