// How often this process has read from files, which a test counts instead of seconds.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <fstream>
#include <string>

namespace glint::test {

/// Returns the number of calls of read() and its variants; -1 if the system does not count them.
inline std::int64_t reads_so_far() {
    std::ifstream file("/proc/self/io");
    for (std::string word; file >> word;)
        if (std::int64_t count = 0; word == "syscr:" && file >> count) return count;
    return -1;
}

}  // namespace glint::test
