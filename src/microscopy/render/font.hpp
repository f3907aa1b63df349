// A built-in font of 5x7 pixels.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string_view>

namespace glint {

constexpr int glyph_width = 5, glyph_height = 7;

/// One character: seven rows from the top with five bits each; the highest bit is the leftmost pixel.
struct Glyph {
    char character;  ///< '\x01' stands for the micro sign
    std::uint8_t rows[glyph_height];
};

/// Removes the first character (UTF-8) of `text` and returns it; unknown characters are an empty box.
const Glyph& next_glyph(std::string_view& text);

/// Width of a text in pixels, without the gap after its last character.
int text_width(std::string_view text, int scale);

}  // namespace glint
