// Formatting of messages without a library: this layer links only libdl and threads.
// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstdint>
#include <iomanip>
#include <sstream>
#include <string>

namespace glint::gpu {

/// Concatenates all parts.
template <class... Parts>
std::string text(const Parts&... parts) {
    std::ostringstream stream;
    (stream << ... << parts);
    return stream.str();
}

/// 4294967296 as "4.0 GiB".
inline std::string bytes_text(std::uint64_t bytes) {
    constexpr const char* units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    int unit = 0;
    double value = double(bytes);
    for (; value >= 1024 && unit < 4; ++unit) value /= 1024;
    return text(std::fixed, std::setprecision(unit == 0 ? 0 : 1), value, " ", units[unit]);
}

/// Returns foreign text, such as names of processes, without control characters for the terminal.
inline std::string printable(std::string words) {
    for (char& c : words)
        if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = '?';
    return words;
}

/// 0.0123 as "12 ms".
inline std::string milliseconds_text(double seconds) {
    return text(std::setprecision(2), std::defaultfloat,
                seconds * 1e3 >= 100 ? std::round(seconds * 1e3) : seconds * 1e3, " ms");
}

}  // namespace glint::gpu
