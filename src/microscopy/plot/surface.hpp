// What plots are drawn on: a picture of pixels, or an SVG file.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace glint::plots {

/// A place, px from the left and upper edge.
struct Point {
    double x = 0, y = 0;
};

struct Color {
    std::uint8_t red = 0, green = 0, blue = 0;
    double opacity = 1;

    bool operator==(const Color&) const = default;
};

struct Stroke {
    Color color = {};
    double width = 1;        ///< px
    bool is_dashed = false;  ///< dashes of 4 widths with gaps of 3
};

struct Box {
    double left = 0, top = 0, width = 0, height = 0;

    double right() const { return left + width; }
    double bottom() const { return top + height; }
};

enum class Align { left, middle, right };

/// A text. `at`: its base line, at the left, the middle or the right. `is_upwards`: it is read from below.
struct Text {
    Point at = {};
    std::string_view text = {};
    double size = 14;  ///< of the font, px
    Align align = Align::left;
    bool is_upwards = false;
    Color color = {};
};

/// Cells of one size in rows, each of one colour.
struct Cells {
    Box box = {};
    std::size_t columns = 0;
    std::span<const Color> colors = {};  ///< row by row, from the upper left corner
};

class Surface {
  public:
    virtual ~Surface() = default;
    virtual void line(std::span<const Point> points, const Stroke& stroke) = 0;
    /// The area within a closed line that does not cross itself.
    virtual void area(std::span<const Point> points, const Color& color) = 0;
    virtual void dots(std::span<const Point> centres, double radius, const Color& color) = 0;
    virtual void cells(const Cells& cells) = 0;
    virtual void text(const Text& text) = 0;
    /// What follows is drawn within the box only, until the next call.
    virtual void clip(const Box& box) = 0;
};

}  // namespace glint::plots
