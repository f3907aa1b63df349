// A font of strokes: the characters of plots and pictures as lines of any width.
// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>
#include <vector>

#include "plot/surface.hpp"

namespace glint::plots {

/// Height of a capital letter, as a part of the font size; and the width of a stroke.
constexpr double cap_height = 0.72, stroke_width = 0.075;

/// Returns the width of a text (UTF-8) of the font size 1.
double text_width(std::string_view text);

/// Returns the lines of a text of the font size 1, from its left end on the base line; y points down. A character that
/// the font lacks is a box.
std::vector<std::vector<Point>> text_lines(std::string_view text);

}  // namespace glint::plots
