// Draws plots as an SVG file (W3C, Scalable Vector Graphics 1.1).
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "plot/surface.hpp"

namespace glint::plots {

class Svg final : public Surface {
  public:
    Svg(double width, double height);

    void line(std::span<const Point> points, const Stroke& stroke) override;
    void area(std::span<const Point> points, const Color& color) override;
    void dots(std::span<const Point> centres, double radius, const Color& color) override;
    void cells(const Cells& cells) override;
    void text(const Text& text) override;
    void clip(const Box& box) override;

    /// Returns the file.
    std::string take();

  private:
    std::string text_;
    int clips_ = 0;
};

}  // namespace glint::plots
