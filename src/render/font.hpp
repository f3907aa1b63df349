// A font of 5x7 pixels.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string_view>

namespace glint {

constexpr int glyph_width = 5, glyph_height = 7;

/// One character: seven rows from the top, five bits each, the leftmost the highest.
struct Glyph {
    char character;  ///< '\x01' stands for the micro sign
    std::uint8_t rows[glyph_height];
};

/// Takes the first character (UTF-8) off `text`; one that the font lacks is an empty box.
const Glyph& next_glyph(std::string_view& text);

/// Pixels that a text is wide, the gap after its last character not counted.
int text_width(std::string_view text, int scale);

}  // namespace glint
