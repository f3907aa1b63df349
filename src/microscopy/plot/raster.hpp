// Draws plots into pixels, with smooth edges.
// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "glint/picture.hpp"
#include "plot/surface.hpp"

namespace glint::plots {

/// A white picture of width x height times `scale` pixels. Each shape covers a part of each pixel: its area within the
/// pixel for areas, and by the distance from its edge for lines and dots.
class Raster final : public Surface {
  public:
    Raster(double width, double height, double scale);

    void line(std::span<const Point> points, const Stroke& stroke) override;
    void area(std::span<const Point> points, const Color& color) override;
    void dots(std::span<const Point> centres, double radius, const Color& color) override;
    void cells(const Cells& cells) override;
    void text(const Text& text) override;
    void clip(const Box& box) override;

    RgbPicture take() { return std::move(picture_); }

  private:
    struct Window {
        int left, top, right, bottom;  ///< pixels; right and bottom are outside
        bool is_empty() const { return left >= right || top >= bottom; }
    };
    Window window(double left, double top, double right, double bottom) const;
    void cover_line(Point from, Point to, double radius, Window& used);
    void blend(const Window& used, const Color& color);
    void blend_pixel(int x, int y, double cover, const Color& color);

    double scale_;
    RgbPicture picture_;
    Window clip_;
    std::vector<float> cover_;  ///< of the shape that is being drawn; 0 elsewhere
};

}  // namespace glint::plots
