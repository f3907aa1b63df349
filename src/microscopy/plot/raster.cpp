// SPDX-License-Identifier: MIT
#include "plot/raster.hpp"

#include <algorithm>
#include <cmath>

#include "plot/stroke_font.hpp"

namespace glint::plots {
namespace {

constexpr double dash_widths = 4, gap_widths = 3;

/// Cuts a line into dashes.
std::vector<std::vector<Point>> cut_into_dashes(std::span<const Point> points, double width) {
    std::vector<std::vector<Point>> dashes;
    bool is_dash = true;
    double left = dash_widths * width;
    for (std::size_t k = 0; k + 1 < points.size(); ++k) {
        Point at = points[k];
        const Point end = points[k + 1];
        double length = std::hypot(end.x - at.x, end.y - at.y);
        if (k == 0) dashes.push_back({at});
        while (length > left) {
            const double part = left / length;
            at = {at.x + part * (end.x - at.x), at.y + part * (end.y - at.y)};
            length -= left;
            if (is_dash)
                dashes.back().push_back(at);
            else
                dashes.push_back({at});
            is_dash = !is_dash, left = (is_dash ? dash_widths : gap_widths) * width;
        }
        left -= length;
        if (is_dash) dashes.back().push_back(end);
    }
    return dashes;
}

}  // namespace

Raster::Raster(double width, double height, double scale) : scale_(scale) {
    picture_.width = std::max(1, int(std::lround(width * scale)));
    picture_.height = std::max(1, int(std::lround(height * scale)));
    picture_.rgb.assign(3 * std::size_t(picture_.width) * std::size_t(picture_.height), 255);
    cover_.assign(std::size_t(picture_.width) * std::size_t(picture_.height), 0);
    clip_ = {0, 0, picture_.width, picture_.height};
}

void Raster::clip(const Box& box) {
    clip_ = {0, 0, picture_.width, picture_.height};
    clip_ = window(scale_ * box.left, scale_ * box.top, scale_ * box.right(), scale_ * box.bottom());
}

Raster::Window Raster::window(double left, double top, double right, double bottom) const {
    const auto within = [](double at, int low, int high) {
        return int(std::clamp(std::floor(at), double(low), double(high)));
    };
    return {within(left, clip_.left, clip_.right), within(top, clip_.top, clip_.bottom),
            within(std::ceil(right), clip_.left, clip_.right), within(std::ceil(bottom), clip_.top, clip_.bottom)};
}

void Raster::blend_pixel(int x, int y, double cover, const Color& color) {
    const double part = std::clamp(cover, 0.0, 1.0) * color.opacity;
    std::uint8_t* pixel = picture_.at(x, y);
    const std::uint8_t to[] = {color.red, color.green, color.blue};
    for (int k = 0; k < 3; ++k) pixel[k] = std::uint8_t(std::lround(pixel[k] + part * (to[k] - pixel[k])));
}

void Raster::blend(const Window& used, const Color& color) {
    for (int y = used.top; y < used.bottom; ++y)
        for (int x = used.left; x < used.right; ++x) {
            float& cover = cover_[std::size_t(y) * std::size_t(picture_.width) + std::size_t(x)];
            if (cover > 0) blend_pixel(x, y, double(cover), color);
            cover = 0;
        }
}

/// Covers the pixels nearer than `radius` to a line between two points, in pixels.
void Raster::cover_line(Point from, Point to, double radius, Window& used) {
    const double reach = radius + 1;
    const Window here = window(std::min(from.x, to.x) - reach, std::min(from.y, to.y) - reach,
                               std::max(from.x, to.x) + reach, std::max(from.y, to.y) + reach);
    if (here.is_empty()) return;
    const double dx = to.x - from.x, dy = to.y - from.y, square = dx * dx + dy * dy;
    for (int y = here.top; y < here.bottom; ++y)
        for (int x = here.left; x < here.right; ++x) {
            const double px = x + 0.5 - from.x, py = y + 0.5 - from.y;
            const double along = square > 0 ? std::clamp((px * dx + py * dy) / square, 0.0, 1.0) : 0;
            const double distance = std::hypot(px - along * dx, py - along * dy);
            const double cover = std::clamp(radius + 0.5 - distance, 0.0, 1.0) * std::min(1.0, 2 * radius);
            float& at = cover_[std::size_t(y) * std::size_t(picture_.width) + std::size_t(x)];
            at = std::max(at, float(cover));
        }
    used = {std::min(used.left, here.left), std::min(used.top, here.top), std::max(used.right, here.right),
            std::max(used.bottom, here.bottom)};
}

void Raster::line(std::span<const Point> points, const Stroke& stroke) {
    if (points.empty()) return;
    if (stroke.is_dashed) {
        for (const std::vector<Point>& dash : cut_into_dashes(points, stroke.width))
            line(dash, {stroke.color, stroke.width, false});
        return;
    }
    Window used{picture_.width, picture_.height, 0, 0};
    const double radius = 0.5 * scale_ * stroke.width;
    for (std::size_t k = 0; k + 1 < std::max<std::size_t>(points.size(), 2); ++k) {
        const Point from = points[k], to = points[std::min(k + 1, points.size() - 1)];
        cover_line({scale_ * from.x, scale_ * from.y}, {scale_ * to.x, scale_ * to.y}, radius, used);
    }
    blend(used, stroke.color);
}

void Raster::dots(std::span<const Point> centres, double radius, const Color& color) {
    for (const Point& centre : centres) {
        Window used{picture_.width, picture_.height, 0, 0};
        const Point at{scale_ * centre.x, scale_ * centre.y};
        cover_line(at, at, scale_ * radius, used);
        blend(used, color);
    }
}

void Raster::area(std::span<const Point> points, const Color& color) {
    if (points.size() < 3) return;
    // The part of each pixel is sampled in lines across it; along a line it is exact.
    constexpr int lines_a_pixel = 8;
    double top = points[0].y, bottom = top, left = points[0].x, right = left;
    for (const Point& point : points) {
        top = std::min(top, point.y), bottom = std::max(bottom, point.y);
        left = std::min(left, point.x), right = std::max(right, point.x);
    }
    const Window used = window(scale_ * left, scale_ * top, scale_ * right, scale_ * bottom);
    std::vector<double> crossings;
    for (int y = used.top; y < used.bottom; ++y)
        for (int sub = 0; sub < lines_a_pixel; ++sub) {
            const double at = (y + (sub + 0.5) / lines_a_pixel) / scale_;
            crossings.clear();
            for (std::size_t k = 0; k < points.size(); ++k) {
                const Point &a = points[k], &b = points[(k + 1) % points.size()];
                if ((a.y <= at) != (b.y <= at))
                    crossings.push_back(scale_ * (a.x + (at - a.y) / (b.y - a.y) * (b.x - a.x)));
            }
            std::sort(crossings.begin(), crossings.end());
            for (std::size_t k = 0; k + 1 < crossings.size(); k += 2) {
                const double from = std::max(crossings[k], double(used.left)),
                             to = std::min(crossings[k + 1], double(used.right));
                for (int x = int(from); x < to; ++x)
                    cover_[std::size_t(y) * std::size_t(picture_.width) + std::size_t(x)] +=
                        float((std::min(to, x + 1.0) - std::max(from, double(x))) / lines_a_pixel);
            }
        }
    blend(used, color);
}

void Raster::cells(const Cells& cells) {
    const std::size_t rows = cells.colors.size() / std::max<std::size_t>(cells.columns, 1);
    if (rows == 0) return;
    const Window used = window(std::round(scale_ * cells.box.left), std::round(scale_ * cells.box.top),
                               std::round(scale_ * cells.box.right()), std::round(scale_ * cells.box.bottom()));
    for (int y = used.top; y < used.bottom; ++y)
        for (int x = used.left; x < used.right; ++x) {
            const double u = ((x + 0.5) / scale_ - cells.box.left) / cells.box.width * double(cells.columns),
                         v = ((y + 0.5) / scale_ - cells.box.top) / cells.box.height * double(rows);
            const auto index = [](double at, std::size_t count) {
                return std::size_t(std::clamp(at, 0.0, double(count) - 0.5));
            };
            blend_pixel(x, y, 1, cells.colors[index(v, rows) * cells.columns + index(u, cells.columns)]);
        }
}

void Raster::text(const Text& text) {
    const double width = text.size * text_width(text.text);
    const double start = text.align == Align::left ? 0 : text.align == Align::middle ? -0.5 * width : -width;
    for (const std::vector<Point>& glyph : text_lines(text.text)) {
        std::vector<Point> placed;
        for (const Point& point : glyph) {
            const double along = start + text.size * point.x, down = text.size * point.y;
            placed.push_back(text.is_upwards ? Point{text.at.x + down, text.at.y - along}
                                             : Point{text.at.x + along, text.at.y + down});
        }
        line(placed, {text.color, std::max(stroke_width * text.size, 0.9 / scale_), false});
    }
}

}  // namespace glint::plots
