// Each glyph is a text of strokes. P: a line through points x y. E: an arc, with its centre x y, its radii along x and
// y, and its first and last angle in degrees, counterclockwise from the right. A capital letter is 14 units high, a
// small one 10, and y points up from the base line.
// SPDX-License-Identifier: MIT
#include "plot/stroke_font.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <numbers>
#include <sstream>
#include <string>

namespace glint::plots {
namespace {

constexpr double unit = cap_height / 14, gap = 3;

struct Letter {
    char32_t character;
    double width;
    const char* strokes;
};

constexpr Letter letters[] = {
    {U' ', 4.5, ""},
    {U'0', 9, "E 4.5 7 4.5 7 0 360"},
    {U'1', 9, "P 1.5 11 4.8 14 4.8 0"},
    {U'2', 9, "E 4.5 10 4.2 4 165 -38 P 7.8 7.5 0.4 0 9 0"},
    {U'3', 9, "E 4.4 10.6 3.7 3.4 150 -90 E 4.4 3.6 4.3 3.6 90 -150"},
    {U'4', 9, "P 6.8 0 6.8 14 0 4.5 9.3 4.5"},
    {U'5', 9, "P 8.2 14 1.6 14 1 7.6 E 4.4 4.6 4.4 4.6 138 -142"},
    {U'6', 9, "E 4.5 4.5 4.3 4.5 0 360 E 8.5 4.5 8.3 9.5 98 180"},
    {U'7', 9, "P 0.2 14 8.8 14 3 0"},
    {U'8', 9, "E 4.5 10.6 3.6 3.4 0 360 E 4.5 3.6 4.3 3.6 0 360"},
    {U'9', 9, "E 4.5 9.5 4.3 4.5 0 360 E 0.5 9.5 8.3 9.5 -82 0"},
    {U'A', 10.4, "P 0 0 5.2 14 10.4 0 P 1.8 4.8 8.6 4.8"},
    {U'B', 9, "P 4.5 7.4 0 7.4 0 14 4.5 14 E 4.5 10.7 3.6 3.3 90 -90 E 4.6 3.7 4.2 3.7 90 -90 P 4.6 0 0 0 0 7.4"},
    {U'C', 10, "E 5.5 7 5.5 7 48 312"},
    {U'D', 10, "P 4 14 0 14 0 0 4 0 E 4 7 6 7 90 -90"},
    {U'E', 8, "P 8 14 0 14 0 0 8 0 P 0 7.4 7 7.4"},
    {U'F', 7.6, "P 7.6 14 0 14 0 0 P 0 7.4 6.4 7.4"},
    {U'G', 10.4, "E 5.5 7 5.5 7 48 318 P 6 6.6 10.2 6.6 10.2 2.6 9.6 2.3"},
    {U'H', 9.5, "P 0 0 0 14 P 9.5 0 9.5 14 P 0 7.4 9.5 7.4"},
    {U'I', 0.6, "P 0.3 0 0.3 14"},
    {U'J', 5, "P 4.6 14 4.6 3.4 E 1.8 3.4 2.8 3.4 0 -115"},
    {U'K', 9.2, "P 0 0 0 14 P 8.8 14 0 5.4 P 3.3 8.6 9.2 0"},
    {U'L', 7.4, "P 0 14 0 0 7.4 0"},
    {U'M', 11.2, "P 0 0 0 14 5.6 4 11.2 14 11.2 0"},
    {U'N', 9.6, "P 0 0 0 14 9.6 0 9.6 14"},
    {U'O', 11.4, "E 5.7 7 5.7 7 0 360"},
    {U'P', 8.5, "P 0 0 0 14 4.5 14 E 4.5 10.4 4 3.6 90 -90 P 4.5 6.8 0 6.8"},
    {U'Q', 11.4, "E 5.7 7 5.7 7 0 360 P 7 3.6 11 -1.2"},
    {U'R', 9, "P 0 0 0 14 4.5 14 E 4.5 10.4 4 3.6 90 -90 P 4.5 6.8 0 6.8 P 4.3 6.8 9 0"},
    {U'S', 9, "E 4.6 10.4 4 3.6 42 270 E 4.6 3.4 4.3 3.4 90 -145"},
    {U'T', 10, "P 0 14 10 14 P 5 14 5 0"},
    {U'U', 9.4, "P 0 14 0 4.8 E 4.7 4.8 4.7 4.8 180 360 P 9.4 4.8 9.4 14"},
    {U'V', 10.4, "P 0 14 5.2 0 10.4 14"},
    {U'W', 14, "P 0 14 3.4 0 7 14 10.6 0 14 14"},
    {U'X', 9.4, "P 0 0 9.4 14 P 0 14 9.4 0"},
    {U'Y', 9.6, "P 0 14 4.8 6.6 9.6 14 P 4.8 6.6 4.8 0"},
    {U'Z', 9, "P 0.2 14 9 14 0 0 9 0"},
    {U'a', 7.8, "E 3.9 5 3.9 5 0 360 P 7.8 10 7.8 0"},
    {U'b', 7.8, "P 0 14 0 0 E 3.9 5 3.9 5 0 360"},
    {U'c', 7.4, "E 4.1 5 4.1 5 45 315"},
    {U'd', 7.8, "E 3.9 5 3.9 5 0 360 P 7.8 14 7.8 0"},
    {U'e', 8.2, "P 0.2 5.3 8.2 5.3 E 4.1 5 4.1 5 4 315"},
    {U'f', 4.8, "P 1.9 0 1.9 11 E 4.9 11 3 3 180 95 P 0 9.6 4.6 9.6"},
    {U'g', 7.8, "E 3.9 5 3.9 5 0 360 P 7.8 10 7.8 0 E 3.9 0 3.9 4 0 -150"},
    {U'h', 7.6, "P 0 14 0 0 E 3.8 6 3.8 4 180 0 P 7.6 6 7.6 0"},
    {U'i', 0.6, "P 0.3 10 0.3 0 P 0.3 13.3 0.3 13.6"},
    {U'j', 2.2, "P 1.9 10 1.9 -1 E -0.8 -1 2.7 3 0 -80 P 1.9 13.3 1.9 13.6"},
    {U'k', 7.4, "P 0 14 0 0 P 7 10 0 4 P 2.7 6.3 7.4 0"},
    {U'l', 0.6, "P 0.3 14 0.3 0"},
    {U'm', 12.4, "P 0 10 0 0 E 3.1 6.2 3.1 3.8 180 0 P 6.2 6.2 6.2 0 E 9.3 6.2 3.1 3.8 180 0 P 12.4 6.2 12.4 0"},
    {U'n', 7.6, "P 0 10 0 0 E 3.8 6 3.8 4 180 0 P 7.6 6 7.6 0"},
    {U'o', 8.4, "E 4.2 5 4.2 5 0 360"},
    {U'p', 7.8, "P 0 10 0 -4 E 3.9 5 3.9 5 0 360"},
    {U'q', 7.8, "E 3.9 5 3.9 5 0 360 P 7.8 10 7.8 -4"},
    {U'r', 4.6, "P 0 10 0 0 E 4 6 4 4 180 80"},
    {U's', 6.8, "E 3.4 7.6 2.9 2.4 40 270 E 3.4 2.6 3.2 2.6 90 -145"},
    {U't', 4.8, "P 1.9 13 1.9 2.6 E 4.5 2.6 2.6 2.6 180 280 P 0 9.6 4.6 9.6"},
    {U'u', 7.6, "P 0 10 0 4 E 3.8 4 3.8 4 180 360 P 7.6 10 7.6 0"},
    {U'v', 8, "P 0 10 4 0 8 10"},
    {U'w', 11.6, "P 0 10 2.9 0 5.8 10 8.7 0 11.6 10"},
    {U'x', 7.6, "P 0 0 7.6 10 P 0 10 7.6 0"},
    {U'y', 8, "P 0 10 4 0 P 8 10 3 -2.6 1.7 -4 0.3 -4"},
    {U'z', 7.2, "P 0 10 7.2 10 0 0 7.2 0"},
    {U'.', 0.8, "P 0.4 0.2 0.4 0.5"},
    {U',', 1.4, "P 1 0.6 0 -2.4"},
    {U':', 0.8, "P 0.4 0.2 0.4 0.5 P 0.4 8.6 0.4 8.9"},
    {U';', 1.4, "P 1 0.6 0 -2.4 P 0.8 8.6 0.8 8.9"},
    {U'-', 5, "P 0 5.4 5 5.4"},
    {U'+', 8, "P 0 6 8 6 P 4 2 4 10"},
    {U'=', 8, "P 0 7.8 8 7.8 P 0 4.2 8 4.2"},
    {U'<', 7.4, "P 7.4 10.4 0 6 7.4 1.6"},
    {U'>', 7.4, "P 0 10.4 7.4 6 0 1.6"},
    {U'/', 5, "P 0 -2 5 14"},
    {U'\\', 5, "P 0 14 5 -2"},
    {U'|', 0.6, "P 0.3 -3 0.3 14"},
    {U'(', 3.2, "E 5.2 6 5.2 9.6 125 235"},
    {U')', 3.2, "E -2 6 5.2 9.6 55 -55"},
    {U'[', 3, "P 3 15 0 15 0 -3 3 -3"},
    {U']', 3, "P 0 15 3 15 3 -3 0 -3"},
    {U'{', 4, "P 4 15 2.4 14.4 2 13 2 8 0 6 2 4 2 -1 2.4 -2.4 4 -3"},
    {U'}', 4, "P 0 15 1.6 14.4 2 13 2 8 4 6 2 4 2 -1 1.6 -2.4 0 -3"},
    {U'%', 12, "E 2.6 10.8 2.6 3.2 0 360 E 9.4 3.2 2.6 3.2 0 360 P 10 14 2 0"},
    {U'#', 9, "P 2.6 14 1 0 P 7.6 14 6 0 P 0 9.4 9 9.4 P 0 4.6 8.6 4.6"},
    {U'!', 0.8, "P 0.4 14 0.4 4.4 P 0.4 0.2 0.4 0.5"},
    {U'?', 7.4, "E 3.6 10.4 3.5 3.6 170 -60 P 5.4 7.3 3.6 5.6 3.6 4 P 3.6 0.2 3.6 0.5"},
    {U'\'', 0.6, "P 0.3 14 0.3 10.4"},
    {U'"', 3.4, "P 0.4 14 0.4 10.4 P 3 14 3 10.4"},
    {U'*', 6, "P 3 14 3 8 P 0.4 12.5 5.6 9.5 P 0.4 9.5 5.6 12.5"},
    {U'_', 8, "P 0 -3 8 -3"},
    {U'^', 6, "P 0 10.6 3 14 6 10.6"},
    {U'`', 2, "P 0 14 2 11.4"},
    {U'~', 8, "E 2 5.6 2 1.6 180 0 E 6 5.6 2 1.6 180 360"},
    {U'&', 10, "P 10 0 2.4 9 E 4.2 11.4 2.6 2.6 225 -45 P 6 9.6 1.4 6 E 3.8 3.6 3.6 3.6 140 300 P 5.6 0.5 9.4 5.4"},
    {U'@', 13, "E 6.5 6 2.7 3 0 360 P 9.2 9 9.2 4.4 E 11 4.4 1.8 1.6 180 330 E 6.5 6 6.3 7.6 -10 300"},
    {U'$', 9, "E 4.6 10.4 4 3.2 42 270 E 4.6 3.8 4.3 3.4 90 -145 P 4.6 16 4.6 -2"},
    {U'µ', 8.4, "P 0 10 0 -4 P 0 10 0 4 E 3.8 4 3.8 4 180 360 P 7.6 10 7.6 1.4 8.6 0.2"},
    {U'±', 8, "P 0 7.6 8 7.6 P 4 3.8 4 11.4 P 0 0.6 8 0.6"},
    {U'°', 4, "E 2 12 2 2 0 360"},
    {U'−', 8, "P 0 6 8 6"},
    {U'–', 7, "P 0 5.4 7 5.4"},
    {U'×', 7, "P 0.4 2.6 6.6 9.4 P 0.4 9.4 6.6 2.6"},
    {U'·', 0.8, "P 0.4 6 0.4 6.3"},
    {U'²', 5, "E 2.5 11.8 2.3 2.2 165 -38 P 4.3 10.4 0.3 6.4 5 6.4"},
    {U'³', 5, "E 2.4 12.2 2 1.8 150 -90 E 2.4 8.4 2.3 2 90 -150"},
};

constexpr const char* unknown_box = "P 0 0 8 0 8 14 0 14 0 0";

using Lines = std::vector<std::vector<Point>>;

/// Reads the strokes of a letter, y up.
Lines to_lines(const char* strokes) {
    constexpr double degrees_a_step = 12;
    Lines lines;
    std::istringstream in(strokes);
    for (std::string word; in >> word;) {
        if (word == "P") {
            lines.emplace_back();
        } else if (word == "E") {
            double x, y, rx, ry, from, to;
            in >> x >> y >> rx >> ry >> from >> to;
            const int steps = std::max(2, int(std::abs(to - from) / degrees_a_step));
            std::vector<Point>& line = lines.emplace_back();
            for (int k = 0; k <= steps; ++k) {
                const double angle = (from + (to - from) * k / steps) * std::numbers::pi / 180;
                line.push_back({x + rx * std::cos(angle), y + ry * std::sin(angle)});
            }
        } else {
            double y;
            in >> y;
            lines.back().push_back({std::stod(word), y});
        }
    }
    return lines;
}

struct Shape {
    double width = 8;
    Lines lines;
};

const Shape& shape_of(char32_t character) {
    static const auto shapes = [] {
        std::map<char32_t, Shape> made;
        for (const Letter& letter : letters) made[letter.character] = {letter.width, to_lines(letter.strokes)};
        made[U'μ'] = made[U'µ'];
        return made;
    }();
    static const Shape unknown{8, to_lines(unknown_box)};
    const auto found = shapes.find(character);
    return found == shapes.end() ? unknown : found->second;
}

/// Removes the first character (UTF-8); a damaged one is U+FFFD.
char32_t take_character(std::string_view& text) {
    const auto first = static_cast<unsigned char>(text.front());
    const std::size_t length = first < 0x80 ? 1 : first < 0xC0 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    if (length == 0 || length > text.size()) return text.remove_prefix(1), U'\uFFFD';
    char32_t character = length == 1 ? first : first & (0xFF >> (length + 1));
    for (std::size_t k = 1; k < length; ++k) character = character << 6 | (static_cast<unsigned char>(text[k]) & 0x3F);
    text.remove_prefix(length);
    return character;
}

}  // namespace

double text_width(std::string_view text) {
    double width = 0;
    while (!text.empty()) width += shape_of(take_character(text)).width + gap;
    return unit * std::max(width - gap, 0.0);
}

std::vector<std::vector<Point>> text_lines(std::string_view text) {
    Lines to;
    double left = 0;
    while (!text.empty()) {
        const Shape& shape = shape_of(take_character(text));
        for (const std::vector<Point>& line : shape.lines) {
            std::vector<Point>& placed = to.emplace_back();
            for (const Point& point : line) placed.push_back({unit * (left + point.x), -unit * point.y});
        }
        left += shape.width + gap;
    }
    return to;
}

}  // namespace glint::plots
