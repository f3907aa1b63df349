// Formatting of messages without a library: this layer links only libdl and threads.
// SPDX-License-Identifier: MIT
#pragma once

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

}  // namespace glint::gpu
