// Reads files of /proc line by line.
// SPDX-License-Identifier: MIT
#include "base/proc_files.hpp"

#include <cstdlib>
#include <fstream>

namespace glint {

std::string proc_entry(const char* path, const std::string& name) {
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
        if (!line.starts_with(name)) continue;
        const std::size_t value = line.find_first_not_of(" \t", line.find(':') + 1);
        return value == line.npos ? "" : line.substr(value);
    }
    return "";
}

std::uint64_t memory_bytes(const char* name) {  // "MemTotal:       16384 kB"
    const std::string kib = proc_entry("/proc/meminfo", name);
    return kib.empty() ? 0 : std::strtoull(kib.c_str(), nullptr, 10) * 1024;
}

}  // namespace glint
