// Formats numbers for a CSV file, fast and with every significant digit.
// SPDX-License-Identifier: MIT
#pragma once

#include <charconv>
#include <cmath>
#include <string>

namespace glint {

/// Appends the shortest text that reads back as the same value; NaN and infinity, which readers reject, as
/// 0.
template <class T>
void append_number(std::string& text, T value) {
    if constexpr (std::is_floating_point_v<T>)
        if (!std::isfinite(value)) value = 0;
    char digits[40];
    const auto result = std::to_chars(digits, digits + sizeof digits, value);
    text.append(digits, result.ptr);
}

/// Like the function above, but readers can distinguish the text from an integer: 3 is "3.0". NaN and infinity are
/// kept, as Java, Python and glint read them.
template <class T>
void append_real(std::string& text, T value) {
    if (std::isnan(value)) return void(text += "NaN");
    if (std::isinf(value)) return void(text += value > 0 ? "Infinity" : "-Infinity");
    const std::size_t begin = text.size();
    append_number(text, value);
    if (text.find_first_of(".e", begin) == text.npos) text += ".0";
}

}  // namespace glint
