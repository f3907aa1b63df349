// Text and drawings in pictures: a built-in font of 5x7 pixels, and a scale bar with its length above it.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "glint/picture.hpp"

namespace glint {

constexpr int glyph_width = 5, glyph_height = 7;

/// One character: seven rows from the top with five bits each; the highest bit is the leftmost pixel.
struct Glyph {
    char character;  ///< '\x01' stands for the micro sign
    std::uint8_t rows[glyph_height];
};

/// Removes the first character (UTF-8) of `text` and returns its glyph; an empty box for an unknown character.
const Glyph& next_glyph(std::string_view& text);

/// Returns the width of a text in pixels, without the gap after its last character.
int text_width(std::string_view text, int scale);

/// Returns the length of the series 1, 2, 5, 10, ... nm closest to a sixth of a width.
double fitting_scale_bar_nm(double width_nm);

/// Returns a label such as "500 nm" or "2 µm".
std::string scale_bar_label(double length_nm);

/// Draws the bar into the lower right corner. `length_nm` as RenderOptions::scale_bar_nm; throws OptionError if a
/// requested bar is longer than the picture, or the pixel size is unknown.
void draw_scale_bar(RgbPicture& picture, double length_nm);

}  // namespace glint
