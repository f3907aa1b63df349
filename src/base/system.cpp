// Reads files of /proc line by line. Calls close_range(2), or does the same without it.
// SPDX-License-Identifier: MIT
#include "base/system.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

namespace glint {

void close_from(int first) {
    if (::syscall(SYS_close_range, unsigned(first), ~0u, 0u) == 0) return;  // Linux 5.9
    for (long number = ::sysconf(_SC_OPEN_MAX) - 1; number >= first; --number) ::close(int(number));
}

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
