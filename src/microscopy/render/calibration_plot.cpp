// Plots an astigmatic calibration: widths with their errors, the curve, axes with labels.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/micrometres.hpp"
#include "glint/render.hpp"
#include "render/annotations.hpp"

namespace glint {
namespace {

using Rgb = std::uint8_t[3];
constexpr int plot_width = 800, plot_height = 560;
constexpr int left = 100, right = 770, top = 50, bottom = 480;  // the frame around the data
constexpr int text_scale = 2, tick_length = 6;
constexpr Rgb black{20, 20, 20}, grey{225, 225, 225}, red{200, 40, 40}, blue{30, 80, 200};

/// One axis of the plot: maps a range of data to a range of pixels.
struct Axis {
    double low, high;
    int from, to;
    double tick;  ///< distance between labels: 1, 2 or 5 times a power of ten

    double at(double value) const { return from + (value - low) / (high - low) * (to - from); }
};

Axis make_axis(double low, double high, int from, int to) {
    if (!(high - low > 1e-9 && high - low < 1e9)) low -= 0.5, high = low + 1;
    const double wanted = (high - low) / 6, power = std::pow(10, std::floor(std::log10(wanted)));
    const double digit = wanted / power;
    return {low, high, from, to, power * (digit <= 1 ? 1 : digit <= 2 ? 2 : digit <= 5 ? 5 : 10)};
}

void set_pixel(RgbPicture& picture, int x, int y, const Rgb& rgb) {
    if (x >= 0 && y >= 0 && x < picture.width && y < picture.height) std::memcpy(picture.at(x, y), rgb, 3);
}

void draw_line(RgbPicture& picture, double x0, double y0, double x1, double y1, const Rgb& rgb) {
    const int steps = 1 + int(std::min(std::max(std::abs(x1 - x0), std::abs(y1 - y0)), 4.0 * plot_width));
    for (int k = 0; k <= steps; ++k)
        set_pixel(picture, int(std::lround(x0 + (x1 - x0) * k / steps)), int(std::lround(y0 + (y1 - y0) * k / steps)),
                  rgb);
}

void draw_axes(RgbPicture& picture, const Axis& x, const Axis& y) {
    const auto number = [](double value, double tick) {
        const int digits = std::max(0, int(std::ceil(-std::log10(tick) - 1e-9)));
        return fmt::format("{:.{}f}", std::abs(value) < 1e-9 * tick ? 0.0 : value, digits);
    };
    for (double k = std::ceil(x.low / x.tick); k * x.tick <= x.high; ++k) {
        const int px = int(std::lround(x.at(k * x.tick)));
        const std::string text = number(k * x.tick, x.tick);
        draw_line(picture, px, top, px, bottom, grey);
        draw_line(picture, px, bottom, px, bottom + tick_length, black);
        draw_text(picture, px - text_width(text, text_scale) / 2, bottom + 12, text, text_scale, black);
    }
    for (double k = std::ceil(y.low / y.tick); k * y.tick <= y.high; ++k) {
        const int py = int(std::lround(y.at(k * y.tick)));
        const std::string text = number(k * y.tick, y.tick);
        draw_line(picture, left, py, right, py, grey);
        draw_line(picture, left - tick_length, py, left, py, black);
        draw_text(picture, left - 12 - text_width(text, text_scale), py - glyph_height, text, text_scale, black);
    }
    for (int edge : {left, right}) draw_line(picture, edge, top, edge, bottom, black);
    for (int edge : {top, bottom}) draw_line(picture, left, edge, right, edge, black);
}

void draw_points(RgbPicture& picture, const Axis& x, const Axis& y, const std::vector<double>& z,
                 const std::vector<double>& sigma, const std::vector<double>& error, const Rgb& rgb) {
    for (std::size_t k = 0; k < z.size(); ++k) {
        if (sigma[k] > y.high) continue;  // a slice outside the range
        const double px = x.at(z[k]), low = y.at(sigma[k] - error[k]), high = y.at(sigma[k] + error[k]);
        draw_circle(picture, px, y.at(sigma[k]), 3, rgb);
        draw_line(picture, px, low, px, high, rgb);
        for (double end : {low, high}) draw_line(picture, px - 2, end, px + 2, end, rgb);
    }
}

std::vector<double> all_in_um(std::vector<double> nm) {
    for (double& value : nm) value = um_of(value);
    return nm;
}

template <class Width>
void draw_curve(RgbPicture& picture, const Axis& x, const Axis& y, Width width, const Rgb& rgb) {
    const auto z_at = [&](int px) { return x.low + (x.high - x.low) * (px - left) / (right - left); };
    for (int px = left; px < right; ++px) {
        const double here = y.at(width(z_at(px))), next = y.at(width(z_at(px + 1)));
        if (std::min(here, next) >= top && std::max(here, next) <= bottom)
            draw_line(picture, px, here, px + 1, next, rgb);
    }
}

}  // namespace

RgbPicture plot(const Calibration& calibration) {
    RgbPicture picture{plot_width, plot_height, 0, {}};
    picture.rgb.assign(std::size_t(plot_width) * plot_height * 3, 255);
    const AstigmaticCurve& curve = calibration.curve;
    const std::vector<double> z_um = all_in_um(calibration.z_nm), sigma_x_um = all_in_um(calibration.sigma_x_nm),
                              sigma_y_um = all_in_um(calibration.sigma_y_nm);
    const double z_min_um = nm_to_um(curve.z_min_nm), z_max_um = nm_to_um(curve.z_max_nm);
    constexpr double same = 1e-6;
    double highest = 0, first = z_min_um, last = z_max_um;
    for (std::size_t k = 0; k < z_um.size(); ++k) {
        const double z = z_um[k];
        first = std::min(first, z), last = std::max(last, z);
        if (z >= z_min_um - same && z <= z_max_um + same) highest = std::max({highest, sigma_x_um[k], sigma_y_um[k]});
    }
    const double margin = 0.04 * (last - first);
    const Axis x = make_axis(first - margin, last + margin, left, right);
    const Axis y = make_axis(0, 1.1 * highest, bottom, top);
    draw_axes(picture, x, y);
    for (double end : {z_min_um, z_max_um}) draw_line(picture, x.at(end), top, x.at(end), bottom, black);
    draw_points(picture, x, y, z_um, sigma_x_um, all_in_um(calibration.sigma_x_unc_nm), red);
    draw_points(picture, x, y, z_um, sigma_y_um, all_in_um(calibration.sigma_y_unc_nm), blue);
    draw_curve(
        picture, x, y, [&](double z) { return um_of(curve.sigma_x_nm(1000 * z)); }, red);
    draw_curve(
        picture, x, y, [&](double z) { return um_of(curve.sigma_y_nm(1000 * z)); }, blue);
    draw_text(picture, left, 18, "sigma x", text_scale, red);
    draw_text(picture, left + 110, 18, "sigma y", text_scale, blue);
    draw_text(picture, 12, 18, "um", text_scale, black);
    draw_text(picture, (left + right) / 2 - 30, bottom + 46, "z / um", text_scale, black);
    return picture;
}

}  // namespace glint
