// SPDX-License-Identifier: MIT
#include "plot/figure.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "plot/raster.hpp"
#include "plot/stroke_font.hpp"
#include "plot/svg.hpp"
#include "plot/ticks.hpp"

namespace glint::plots {
namespace {

constexpr double font_px = 14, title_px = 15, tick_px = 5, text_gap_px = 6, margin_of_data = 0.05;
constexpr double px_a_tick_x = 90, px_a_tick_y = 45;
constexpr double legend_line_px = 24, legend_gap_px = 18;
constexpr double bar_gap_px = 10, bar_width_px = 12;  // of the colours
constexpr Color frame_color{60, 60, 60}, grid_color{225, 225, 225}, mark_color{150, 150, 150};

struct Range {
    double low = std::numeric_limits<double>::infinity(), high = -std::numeric_limits<double>::infinity();

    void take(double value, bool is_log) {
        if (!std::isfinite(value) || (is_log && value <= 0)) return;
        low = std::min(low, value), high = std::max(high, value);
    }
    bool is_empty() const { return !(low <= high); }
};

/// An axis with its range, along px from `from` to `to`.
class Scale {
  public:
    /// `ends`: what lies beyond the data.
    enum class Ends { margin, from_0, none };
    Scale(const Axis& axis, const Range& data, double from, double to, Ends ends) : axis_(axis), from_(from), to_(to) {
        Range range = data;
        if (range.is_empty()) range = axis.is_log ? Range{1, 10} : Range{0, 1};
        if (axis.is_log) {
            const double margin = std::pow(range.high / range.low, margin_of_data);
            low_ = range.low / margin, high_ = range.high * margin;
            if (!(low_ < high_)) low_ = range.low / 2, high_ = range.high * 2;
        } else {
            double margin = margin_of_data * (range.high - range.low);
            if (!(margin > 0)) margin = std::max(std::abs(range.high) * margin_of_data, 1e-9);
            if (ends == Ends::none) margin = 0;
            low_ = ends == Ends::from_0 && range.low >= 0 ? 0 : range.low - margin, high_ = range.high + margin;
        }
        if (std::isfinite(axis.low)) low_ = axis.low;
        if (std::isfinite(axis.high)) high_ = axis.high;
        if (!(low_ < high_)) high_ = low_ + 1;
        if (axis.is_reversed) std::swap(from_, to_);
    }
    double at(double value) const {
        const double part = axis_.is_log ? std::log(std::max(value, 1e-300) / low_) / std::log(high_ / low_)
                                         : (value - low_) / (high_ - low_);
        return from_ + std::clamp(part, -10.0, 11.0) * (to_ - from_);
    }
    double low() const { return low_; }
    std::vector<Tick> ticks(double px_a_tick) const {
        if (!axis_.names.empty()) {
            std::vector<Tick> ticks;
            for (std::size_t k = 0; k < axis_.names.size(); ++k) ticks.push_back({double(k), axis_.names[k]});
            return ticks;
        }
        const int wanted = std::max(3, int(std::abs(to_ - from_) / px_a_tick));
        return axis_.is_log ? log_ticks(low_, high_, wanted) : linear_ticks(low_, high_, wanted);
    }

  private:
    const Axis& axis_;
    double from_, to_, low_ = 0, high_ = 1;
};

/// The names of a panel, each with what it stands for.
struct LegendEntry {
    std::string name;
    Color color;
    bool is_line, is_dashed, has_dots;
};

class PanelDrawing {
  public:
    PanelDrawing(const PlacedPanel& placed, Surface& surface, const Box& all)
        : panel_(placed.panel),
          box_(placed.box),
          all_(all),
          surface_(surface),
          x_(panel_.x, range_of_x(), box_.left, box_.right(), ends_of(Scale::Ends::margin)),
          y_(panel_.y, range_of_y(), box_.bottom(), box_.top,
             ends_of(panel_.bars.empty() ? Scale::Ends::margin : Scale::Ends::from_0)) {}

    void draw() {
        if (panel_.has_grid && panel_.heats.empty()) draw_grid();
        surface_.clip(box_);
        for (const Heat& heat : panel_.heats) draw(heat);
        for (const Bars& bars : panel_.bars) draw(bars);
        for (const Band& band : panel_.bands) draw(band);
        for (const double mark : panel_.marks)
            draw_line({{x_.at(mark), box_.top}, {x_.at(mark), box_.bottom()}}, {mark_color, 1, false});
        for (const Dots& dots : panel_.dots) surface_.dots(placed(dots.points), dots.radius, dots.color);
        for (const Curve& curve : panel_.curves) draw(curve);
        surface_.clip(all_);
        draw_frame();
        draw_numbers();
        draw_legend();
        if (panel_.has_colors && !panel_.heats.empty()) draw_colors(panel_.heats.front());
    }

  private:
    template <class Take>
    void take_points(const Take& take) const {
        for (const Curve& curve : panel_.curves)
            for (const Point& point : curve.points) take(point);
        for (const Dots& dots : panel_.dots)
            for (const Point& point : dots.points) take(point);
        for (const Heat& heat : panel_.heats) take({heat.x_low, heat.y_low}), take({heat.x_high, heat.y_high});
        for (const Bars& bars : panel_.bars)
            for (const Point& top : bars.tops)
                take({top.x - 0.5 * bars.width, top.y}), take({top.x + 0.5 * bars.width, top.y});
        for (const Band& band : panel_.bands)
            for (std::size_t k = 0; k < band.x.size(); ++k)
                take({band.x[k], band.low[k]}), take({band.x[k], band.high[k]});
    }
    Scale::Ends ends_of(Scale::Ends otherwise) const { return panel_.heats.empty() ? otherwise : Scale::Ends::none; }
    Range range_of_x() const {
        Range range;
        take_points([&](const Point& point) { range.take(point.x, panel_.x.is_log); });
        return range;
    }
    Range range_of_y() const {
        Range range;
        take_points([&](const Point& point) { range.take(point.y, panel_.y.is_log); });
        return range;
    }

    Point place(const Point& point) const { return {x_.at(point.x), y_.at(point.y)}; }
    bool can_place(const Point& point) const {
        return std::isfinite(point.x) && std::isfinite(point.y) && !(panel_.x.is_log && point.x <= 0) &&
               !(panel_.y.is_log && point.y <= 0);
    }
    std::vector<Point> placed(const std::vector<Point>& points) const {
        std::vector<Point> to;
        for (const Point& point : points)
            if (can_place(point)) to.push_back(place(point));
        return to;
    }
    void draw_line(const std::vector<Point>& points, const Stroke& stroke) { surface_.line(points, stroke); }

    void draw(const Curve& curve) {
        std::vector<Point> part;
        const auto end_part = [&] {
            if (part.size() > 1) draw_line(part, {curve.color, curve.width, curve.is_dashed});
            part.clear();
        };
        for (const Point& point : curve.points) {
            if (can_place(point))
                part.push_back(place(point));
            else
                end_part();
        }
        end_part();
        if (curve.has_dots) surface_.dots(placed(curve.points), 1.6 * curve.width, curve.color);
    }
    void draw(const Band& band) {
        Color color = band.color;
        color.opacity = band.opacity;
        std::vector<Point> low, high;
        const auto end_part = [&] {
            low.insert(low.end(), high.rbegin(), high.rend());
            surface_.area(low, color);
            low.clear(), high.clear();
        };
        for (std::size_t k = 0; k < band.x.size(); ++k) {
            const Point below{band.x[k], band.low[k]}, above{band.x[k], band.high[k]};
            if (can_place(below) && can_place(above))
                low.push_back(place(below)), high.push_back(place(above));
            else
                end_part();
        }
        end_part();
    }
    void draw(const Bars& bars) {
        const double base = y_.at(panel_.y.is_log ? y_.low() : 0);
        std::vector<Point> outline;  // of bars that touch, so that no light shows between them
        double reached = 0;
        const auto end_outline = [&] {
            if (!outline.empty()) outline.push_back({outline.back().x, base});
            surface_.area(outline, bars.color);
            outline.clear();
        };
        for (const Point& top : bars.tops) {
            const double left = top.x - 0.5 * bars.width, right = top.x + 0.5 * bars.width;
            if (!can_place(top) || std::abs(left - reached) > 1e-3 * bars.width) end_outline();
            if (!can_place(top)) continue;
            if (outline.empty()) outline.push_back({x_.at(left), base});
            outline.push_back({x_.at(left), y_.at(top.y)}), outline.push_back({x_.at(right), y_.at(top.y)});
            reached = right;
        }
        end_outline();
    }
    void draw(const Heat& heat) {
        const std::size_t columns = std::max<std::size_t>(heat.columns, 1), rows = heat.values.size() / columns;
        if (rows == 0) return;
        const Point first = place({heat.x_low, heat.y_low}), last = place({heat.x_high, heat.y_high});
        std::vector<Color> colors(rows * columns);
        for (std::size_t row = 0; row < rows; ++row)
            for (std::size_t column = 0; column < columns; ++column) {
                const double value = heat.values[(last.y < first.y ? rows - 1 - row : row) * columns +
                                                 (last.x < first.x ? columns - 1 - column : column)];
                colors[row * columns + column] = color_of(heat.palette, (value - heat.low) / (heat.high - heat.low));
            }
        surface_.cells({{std::min(first.x, last.x), std::min(first.y, last.y), std::abs(last.x - first.x),
                         std::abs(last.y - first.y)},
                        columns,
                        colors});
    }

    void draw_grid() {
        for (const Tick& tick : x_.ticks(px_a_tick_x))
            if (!tick.text.empty())
                draw_line({{x_.at(tick.value), box_.top}, {x_.at(tick.value), box_.bottom()}}, {grid_color, 1, false});
        for (const Tick& tick : y_.ticks(px_a_tick_y))
            if (!tick.text.empty())
                draw_line({{box_.left, y_.at(tick.value)}, {box_.right(), y_.at(tick.value)}}, {grid_color, 1, false});
    }
    void draw_frame() {
        draw_line({{box_.left, box_.top},
                   {box_.right(), box_.top},
                   {box_.right(), box_.bottom()},
                   {box_.left, box_.bottom()},
                   {box_.left, box_.top}},
                  {frame_color, 1, false});
    }
    void draw_numbers() {
        const double middle = box_.left + 0.5 * box_.width;
        double free_from = -1e9;
        for (const Tick& tick : x_.ticks(px_a_tick_x)) {
            const double at = x_.at(tick.value), length = tick.text.empty() ? 0.6 * tick_px : tick_px;
            draw_line({{at, box_.bottom()}, {at, box_.bottom() + length}}, {frame_color, 1, false});
            const double half = 0.5 * font_px * text_width(tick.text);
            if (!panel_.x.has_numbers || tick.text.empty() || at - half < free_from) continue;  // they would overlap
            surface_.text({{at, box_.bottom() + tick_px + text_gap_px + cap_height * font_px},
                           tick.text,
                           font_px,
                           Align::middle});
            free_from = at + half + text_gap_px;
        }
        double widest = 0;
        for (const Tick& tick : y_.ticks(px_a_tick_y)) {
            const double at = y_.at(tick.value), length = tick.text.empty() ? 0.6 * tick_px : tick_px;
            draw_line({{box_.left - length, at}, {box_.left, at}}, {frame_color, 1, false});
            if (!panel_.y.has_numbers) continue;
            surface_.text({{box_.left - tick_px - text_gap_px, at + 0.5 * cap_height * font_px},
                           tick.text,
                           font_px,
                           Align::right});
            widest = std::max(widest, font_px * text_width(tick.text));
        }
        const double numbers = panel_.x.has_numbers ? font_px + text_gap_px : 0;
        surface_.text({{middle, box_.bottom() + tick_px + numbers + text_gap_px + cap_height * font_px},
                       panel_.x.label,
                       font_px,
                       Align::middle});
        surface_.text({{box_.left - tick_px - 2.5 * text_gap_px - widest, box_.top + 0.5 * box_.height},
                       panel_.y.label,
                       font_px,
                       Align::middle,
                       true});
        surface_.text({{middle, box_.top - title_gap()}, panel_.title, title_px, Align::middle});
    }

    std::vector<LegendEntry> entries() const {
        std::vector<LegendEntry> to;
        for (const Bars& bars : panel_.bars)
            if (!bars.name.empty()) to.push_back({bars.name, bars.color, false, false, false});
        for (const Dots& dots : panel_.dots)
            if (!dots.name.empty()) to.push_back({dots.name, dots.color, false, false, true});
        for (const Curve& curve : panel_.curves)
            if (!curve.name.empty()) to.push_back({curve.name, curve.color, true, curve.is_dashed, curve.has_dots});
        return to;
    }
    double title_gap() const { return entries().empty() ? text_gap_px : 2.2 * text_gap_px + font_px; }

    /// In a line between title and axes, so that it never hides data.
    void draw_legend() {
        const std::vector<LegendEntry> all = entries();
        double width = -legend_gap_px;
        for (const LegendEntry& one : all)
            width += legend_line_px + text_gap_px + font_px * text_width(one.name) + legend_gap_px;
        double left = box_.left + 0.5 * (box_.width - width);
        const double base = box_.top - text_gap_px, middle = base - 0.45 * cap_height * font_px;
        for (const LegendEntry& one : all) {
            if (one.is_line)
                draw_line({{left, middle}, {left + legend_line_px, middle}}, {one.color, 2, one.is_dashed});
            if (one.has_dots) surface_.dots(std::vector<Point>{{left + 0.5 * legend_line_px, middle}}, 3, one.color);
            if (!one.is_line && !one.has_dots) {
                const double right = left + legend_line_px, top = middle - 5, bottom = middle + 5;
                surface_.area(std::vector<Point>{{left, top}, {right, top}, {right, bottom}, {left, bottom}},
                              one.color);
            }
            left += legend_line_px + text_gap_px;
            surface_.text({{left, base}, one.name, font_px});
            left += font_px * text_width(one.name) + legend_gap_px;
        }
    }

    void draw_colors(const Heat& heat) {
        constexpr std::size_t steps = 64;
        std::vector<Color> colors(steps);
        for (std::size_t k = 0; k < steps; ++k)
            colors[k] = color_of(heat.palette, 1 - (double(k) + 0.5) / double(steps));
        const Box bar{box_.right() + bar_gap_px, box_.top, bar_width_px, box_.height};
        surface_.cells({bar, 1, colors});
        draw_line({{bar.left, bar.top},
                   {bar.right(), bar.top},
                   {bar.right(), bar.bottom()},
                   {bar.left, bar.bottom()},
                   {bar.left, bar.top}},
                  {frame_color, 1, false});
        Axis axis;
        axis.low = heat.low, axis.high = heat.high;
        const Scale scale(axis, {}, bar.bottom(), bar.top, Scale::Ends::none);
        for (const Tick& tick : scale.ticks(px_a_tick_y)) {
            const double at = scale.at(tick.value);
            draw_line({{bar.right(), at}, {bar.right() + 0.6 * tick_px, at}}, {frame_color, 1, false});
            surface_.text(
                {{bar.right() + tick_px + 0.5 * text_gap_px, at + 0.5 * cap_height * font_px}, tick.text, font_px});
        }
    }

    const Panel& panel_;
    Box box_, all_;
    Surface& surface_;
    Scale x_, y_;
};

void draw_on(const Figure& figure, Surface& surface) {
    const Box all{0, 0, figure.width, figure.height};
    for (const PlacedPanel& placed : figure.panels) PanelDrawing(placed, surface, all).draw();
    for (const Label& label : figure.labels) surface.text({label.at, label.text, label.size, label.align});
}

using Stops = std::array<Color, 5>;
constexpr Stops light_stops{{{0, 0, 4}, {87, 16, 110}, {188, 55, 84}, {249, 142, 9}, {252, 255, 164}}};
constexpr Stops diverging_stops{{{5, 48, 97}, {67, 147, 195}, {247, 247, 247}, {214, 96, 77}, {103, 0, 31}}};
constexpr Stops map_stops{{{68, 1, 84}, {59, 82, 139}, {33, 145, 140}, {94, 201, 98}, {253, 231, 37}}};

}  // namespace

Color color_of(Palette palette, double part) {
    if (std::isnan(part)) return {255, 255, 255};
    const Stops& stops = palette == Palette::light       ? light_stops
                         : palette == Palette::diverging ? diverging_stops
                                                         : map_stops;
    const double at = std::clamp(part, 0.0, 1.0) * double(stops.size() - 1);
    const auto k = std::min(std::size_t(at), stops.size() - 2);
    const double t = at - double(k);
    const auto mix = [t](std::uint8_t a, std::uint8_t b) { return std::uint8_t(std::lround(a + t * (b - a))); };
    return {mix(stops[k].red, stops[k + 1].red), mix(stops[k].green, stops[k + 1].green),
            mix(stops[k].blue, stops[k + 1].blue)};
}

Figure figure_of(std::vector<Panel> panels, double width, double height) {
    constexpr double left = 86, right = 24, top = 62, bottom = 64, colors = 66;
    Figure to{width, height, {}, {}};
    const double each = width / double(std::max<std::size_t>(panels.size(), 1));
    for (std::size_t k = 0; k < panels.size(); ++k) {
        const double inner = each - left - right - (panels[k].has_colors ? colors : 0);
        to.panels.push_back({std::move(panels[k]), {each * double(k) + left, top, inner, height - top - bottom}});
    }
    return to;
}

RgbPicture draw(const Figure& figure, double scale) {
    Raster raster(figure.width, figure.height, scale);
    draw_on(figure, raster);
    return raster.take();
}

std::string to_svg(const Figure& figure) {
    Svg svg(figure.width, figure.height);
    draw_on(figure, svg);
    return svg.take();
}

}  // namespace glint::plots
