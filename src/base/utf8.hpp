// Characters of UTF-8.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace glint {

/// Returns the number of bytes of the character that begins at `at`; 0 if the bytes are not valid UTF-8.
inline std::size_t utf8_length(std::string_view text, std::size_t at) {
    const auto byte = [&](std::size_t k) {
        return at + k < text.size() ? std::uint8_t(text[at + k]) : std::uint8_t(0);
    };
    const std::uint8_t first = byte(0);
    if (first < 0x80) return 1;
    const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    if (first < 0xc2 || first > 0xf4) return 0;
    for (std::size_t k = 1; k < length; ++k)
        if ((byte(k) & 0xc0) != 0x80) return 0;
    const std::uint8_t second = byte(1);
    // Invalid: longer than needed, half of a UTF-16 pair, or beyond the last character.
    if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second >= 0xa0) || (first == 0xf0 && second < 0x90) ||
        (first == 0xf4 && second >= 0x90))
        return 0;
    return length;
}

/// Returns the text unchanged if it is UTF-8, else converted from Latin-1.
inline std::string utf8_or_latin1(std::string_view text) {
    std::string latin1;
    bool is_utf8 = true;
    for (std::size_t at = 0; at < text.size() && is_utf8;) {
        const std::size_t length = utf8_length(text, at);
        is_utf8 = length > 0, at += length;
    }
    if (is_utf8) return std::string(text);
    for (const char c : text) {
        const auto byte = std::uint8_t(c);
        if (byte >= 0x80) latin1 += char(0xc0 | byte >> 6);
        latin1 += byte >= 0x80 ? char(0x80 | (byte & 0x3f)) : c;
    }
    return latin1;
}

}  // namespace glint
