// SPDX-License-Identifier: MIT
#include "plot/svg.hpp"

#include <fmt/format.h>

#include <map>
#include <tuple>

namespace glint::plots {
namespace {

std::string paint(const char* what, const Color& color) {
    std::string text = fmt::format(" {}=\"#{:02x}{:02x}{:02x}\"", what, color.red, color.green, color.blue);
    if (color.opacity < 1) text += fmt::format(" {}-opacity=\"{:.3g}\"", what, color.opacity);
    return text;
}

std::string path_of(std::span<const Point> points) {
    std::string path;
    for (const Point& point : points)
        path += fmt::format("{}{:.2f} {:.2f}", path.empty() ? "M" : "L", point.x, point.y);
    return path;
}

/// Returns the text with the characters of XML's markup as entities, and without control characters, which XML forbids.
std::string escape(std::string_view text) {
    std::string to;
    for (const char c : text) {
        if (c == '&')
            to += "&amp;";
        else if (c == '<')
            to += "&lt;";
        else if (c == '>')
            to += "&gt;";
        else if (static_cast<unsigned char>(c) >= 0x20)
            to += c;
    }
    return to;
}

}  // namespace

Svg::Svg(double width, double height) {
    text_ = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:g}\" height=\"{1:g}\" viewBox=\"0 0 {0:g} {1:g}\" "
        "font-family=\"DejaVu Sans, Helvetica, Arial, sans-serif\">\n<rect width=\"{0:g}\" height=\"{1:g}\" "
        "fill=\"#ffffff\"/>\n<g>\n",
        width, height);
}

void Svg::clip(const Box& box) {
    text_ += fmt::format(
        "</g>\n<clipPath id=\"c{0}\"><rect x=\"{1:.2f}\" y=\"{2:.2f}\" width=\"{3:.2f}\" "
        "height=\"{4:.2f}\"/></clipPath>\n"
        "<g clip-path=\"url(#c{0})\">\n",
        clips_++, box.left, box.top, box.width, box.height);
}

void Svg::line(std::span<const Point> points, const Stroke& stroke) {
    if (points.empty()) return;
    const std::string dashes =
        stroke.is_dashed ? fmt::format(" stroke-dasharray=\"{:.3g} {:.3g}\"", 4 * stroke.width, 3 * stroke.width)
                         : " stroke-linecap=\"round\"";
    text_ += fmt::format("<path d=\"{}\" fill=\"none\" stroke-width=\"{:.3g}\" stroke-linejoin=\"round\"{}{}/>\n",
                         path_of(points), stroke.width, dashes, paint("stroke", stroke.color));
}

void Svg::area(std::span<const Point> points, const Color& color) {
    if (points.size() < 3) return;
    text_ += fmt::format("<path d=\"{}Z\"{}/>\n", path_of(points), paint("fill", color));
}

void Svg::dots(std::span<const Point> centres, double radius, const Color& color) {
    if (centres.empty()) return;
    std::string path;
    for (const Point& centre : centres) path += fmt::format("M{:.2f} {:.2f}h0", centre.x, centre.y);
    text_ += fmt::format("<path d=\"{}\" stroke-linecap=\"round\" stroke-width=\"{:.3g}\"{}/>\n", path, 2 * radius,
                         paint("stroke", color));
}

void Svg::cells(const Cells& cells) {
    const std::size_t columns = std::max<std::size_t>(cells.columns, 1), rows = cells.colors.size() / columns;
    const double width = cells.box.width / double(columns),
                 height = cells.box.height / double(std::max<std::size_t>(rows, 1));
    std::map<std::tuple<int, int, int>, std::string> paths;  // a path a colour
    for (std::size_t row = 0; row < rows; ++row)
        for (std::size_t first = 0, last; first < columns; first = last) {
            const Color& color = cells.colors[row * columns + first];
            for (last = first + 1; last < columns && cells.colors[row * columns + last] == color;) ++last;
            paths[{color.red, color.green, color.blue}] +=
                fmt::format("M{:.2f} {:.2f}h{:.2f}v{:.2f}h{:.2f}z", cells.box.left + width * double(first),
                            cells.box.top + height * double(row), width * double(last - first), height,
                            -width * double(last - first));
        }
    text_ += "<g shape-rendering=\"crispEdges\">\n";
    for (const auto& [color, path] : paths)
        text_ += fmt::format("<path d=\"{}\" fill=\"#{:02x}{:02x}{:02x}\"/>\n", path, std::get<0>(color),
                             std::get<1>(color), std::get<2>(color));
    text_ += "</g>\n";
}

void Svg::text(const Text& text) {
    const char* anchor = text.align == Align::left ? "start" : text.align == Align::middle ? "middle" : "end";
    const std::string place =
        text.is_upwards ? fmt::format("transform=\"translate({:.2f} {:.2f}) rotate(-90)\"", text.at.x, text.at.y)
                        : fmt::format("x=\"{:.2f}\" y=\"{:.2f}\"", text.at.x, text.at.y);
    text_ += fmt::format("<text {} font-size=\"{:g}\" text-anchor=\"{}\"{}>{}</text>\n", place, text.size, anchor,
                         paint("fill", text.color), escape(text.text));
}

std::string Svg::take() { return std::move(text_) + "</g>\n</svg>\n"; }

}  // namespace glint::plots
