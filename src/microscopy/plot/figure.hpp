// Figures of one or several plots: curves, points, bars, bands and maps between axes.
//
//     plots::Panel panel;
//     panel.title = "Drift", panel.x.label = "Frame", panel.y.label = "Drift (nm)";
//     panel.bands.push_back({x, low, high, plots::blue});
//     panel.curves.push_back({points, plots::blue, "x"});
//     const RgbPicture picture = plots::draw(plots::figure_of(panel, 800, 500), 1.5);
// SPDX-License-Identifier: MIT
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "glint/picture.hpp"
#include "plot/surface.hpp"

namespace glint::plots {

// Colours that colour-blind people distinguish (Okabe & Ito, Color Universal Design, 2008).
constexpr Color blue{0, 114, 178}, vermilion{213, 94, 0}, green{0, 158, 115}, orange{230, 159, 0},
    purple{204, 121, 167}, grey{140, 140, 140}, black{0, 0, 0};

/// A line through points. A point that is not finite interrupts it.
struct Curve {
    std::vector<Point> points;
    Color color = blue;
    std::string name = {};  ///< in the legend; empty: not there
    double width = 2;       ///< px
    bool is_dashed = false, has_dots = false;
};

struct Dots {
    std::vector<Point> points;
    Color color = blue;
    std::string name = {};
    double radius = 2;  ///< px
};

/// Bars from 0, each in the middle of `width`, in the unit of x.
struct Bars {
    std::vector<Point> tops;
    double width = 1;
    Color color = blue;
    std::string name = {};
};

/// The area between two curves. Points that are not finite interrupt it.
struct Band {
    std::vector<double> x, low, high;
    Color color = blue;
    double opacity = 0.25;
};

enum class Palette { light, diverging, map };  ///< black to yellow; blue to red; purple to yellow

/// Values in cells, in rows of ascending y.
struct Heat {
    std::vector<double> values;
    std::size_t columns = 0;
    double x_low = 0, x_high = 1, y_low = 0, y_high = 1;  ///< edges of the whole
    double low = 0, high = 1;                             ///< values of the ends of the palette
    Palette palette = Palette::light;
};

struct Axis {
    static constexpr double from_data = std::numeric_limits<double>::quiet_NaN();
    std::string label = {};
    double low = from_data, high = from_data;  ///< without: from the data, with a margin
    bool is_log = false, is_reversed = false;
    bool has_numbers = true;
    std::vector<std::string> names = {};  ///< at 0, 1, 2, ... instead of numbers
};

struct Panel {
    std::string title = {};
    Axis x = {}, y = {};
    std::vector<Heat> heats = {};
    std::vector<Bars> bars = {};
    std::vector<Band> bands = {};
    std::vector<Dots> dots = {};
    std::vector<Curve> curves = {};
    std::vector<double> marks = {};  ///< x of thin vertical lines
    bool has_grid = true;
    bool has_colors = false;  ///< a bar of the first heat's palette, at the right
};

/// A panel whose axes lie on the edges of the box. Its labels are outside.
struct PlacedPanel {
    Panel panel;
    Box box;
};

struct Label {
    Point at;
    std::string text;
    Align align = Align::left;
    double size = 14;
};

struct Figure {
    double width = 800, height = 500;  ///< px
    std::vector<PlacedPanel> panels = {};
    std::vector<Label> labels = {};
};

/// Returns a figure with panels of equal size in a row.
Figure figure_of(std::vector<Panel> panels, double width, double height);

/// Returns the colours of a palette at a part from 0 to 1. NaN is white.
Color color_of(Palette palette, double part);

/// Returns the figure in pixels; `scale`: pixels a px.
RgbPicture draw(const Figure& figure, double scale);
/// Returns the figure as an SVG file.
std::string to_svg(const Figure& figure);

}  // namespace glint::plots
