// The maps, bad pixels and the photon transfer of a calibrated camera.
// SPDX-License-Identifier: MIT
#include "cli/commands/calibrate_camera.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/median.hpp"

namespace glint::cli {
namespace {

constexpr int max_map_edge = 256;              // of a map in the picture
constexpr std::size_t max_bad_pixels = 20000;  // marks; more would cover the whole picture
constexpr const char* fault_names[] = {"", "hot", "dead", "noisy"};
constexpr plots::Color fault_colors[] = {{}, plots::vermilion, plots::blue, plots::orange};

/// A map as its picture shows it: means over squares of `edge` pixels. Bad pixels count only if a square has no good
/// one.
struct MapPicture {
    const char* title;
    std::vector<double> values;
    double low = 0, high = 0;  ///< range of the colours: 1st to 99th percentile
};

int square_edge(const CameraCalibration& c) { return (std::max(c.width, c.height) + max_map_edge - 1) / max_map_edge; }
int squares(int pixels, int edge) { return (pixels + edge - 1) / edge; }

template <class Value>
MapPicture map_of(const CameraCalibration& c, const char* title, const Value& value) {
    const int edge = square_edge(c), columns = squares(c.width, edge), rows = squares(c.height, edge);
    std::vector<double> sum(std::size_t(columns) * std::size_t(rows)), all(sum), good(sum), number(sum);
    for (std::size_t k = 0; k < c.faults.size(); ++k) {
        const std::size_t x = k % std::size_t(c.width), y = k / std::size_t(c.width), e = std::size_t(edge);
        const std::size_t to = y / e * std::size_t(columns) + x / e;
        all[to] += value(k), number[to] += 1;
        if (c.faults[k] == PixelFault::none) sum[to] += value(k), good[to] += 1;
    }
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] = good[i] > 0 ? sum[i] / good[i] : all[i] / number[i];
    MapPicture panel{title, sum, 0, 0};
    std::sort(sum.begin(), sum.end());
    panel.low = sum[sum.size() / 100], panel.high = sum[sum.size() - 1 - sum.size() / 100];
    if (!(panel.high > panel.low)) panel.low -= 0.5, panel.high += 0.5;
    return panel;
}

std::vector<MapPicture> maps_of(const CameraCalibration& c) {
    std::vector<MapPicture> maps;
    maps.push_back(map_of(c, "Offset (ADU)", [&](std::size_t k) { return c.offset_adu.value[k]; }));
    const auto noise_adu = [&](std::size_t k) { return std::sqrt(double(c.readvar_adu2.value[k])); };
    const std::vector<float>& gain = c.gain_e_per_adu.value;
    const auto noise_e = [&](std::size_t k) { return noise_adu(k) * (gain.empty() ? c.sensor_gain : double(gain[k])); };
    maps.push_back(c.sensor_gain > 0 ? map_of(c, "Read noise (e- rms)", noise_e)
                                     : map_of(c, "Read noise (ADU rms)", noise_adu));
    if (!gain.empty()) maps.push_back(map_of(c, "Gain (e-/ADU)", [&](std::size_t k) { return gain[k]; }));
    return maps;
}

/// Axes of the sensor: y points down.
plots::Panel sensor_panel(const CameraCalibration& c, std::string title) {
    plots::Panel panel;
    panel.title = std::move(title), panel.x.label = "x (px)", panel.y.label = "y (px)", panel.y.is_reversed = true;
    panel.x.low = 0, panel.x.high = c.width, panel.y.low = 0, panel.y.high = c.height;
    return panel;
}

plots::Panel map_panel(const CameraCalibration& c, const MapPicture& map) {
    plots::Panel panel = sensor_panel(c, map.title);
    const int edge = square_edge(c), columns = squares(c.width, edge), rows = squares(c.height, edge);
    panel.heats.push_back({map.values, std::size_t(columns), 0, double(columns * edge), 0, double(rows * edge), map.low,
                           map.high, plots::Palette::map});
    panel.has_colors = true;
    return panel;
}

plots::Panel faults_panel(const CameraCalibration& c) {
    plots::Panel panel = sensor_panel(c, "Bad pixels: none");
    for (const PixelFault fault : {PixelFault::hot, PixelFault::dead, PixelFault::noisy}) {
        const std::int64_t count = c.count(fault);
        if (count == 0) continue;
        plots::Dots dots{{}, fault_colors[int(fault)], fmt::format("{} ({})", fault_names[int(fault)], count), 1.5};
        const std::size_t every = std::size_t(count) / max_bad_pixels + 1;
        std::size_t seen = 0;
        for (std::size_t k = 0; k < c.faults.size(); ++k)
            if (c.faults[k] == fault && seen++ % every == 0)
                dots.points.push_back({double(k % std::size_t(c.width)) + 0.5, double(k / std::size_t(c.width)) + 0.5});
        panel.dots.push_back(std::move(dots)), panel.title = "Bad pixels";
    }
    return panel;
}

/// Means and variances of the sampled pixels in all levels, for the good or the bad pixels.
plots::Dots sample_dots(const CameraCalibration& c, bool good) {
    plots::Dots dots{
        {}, good ? plots::Color{160, 160, 160} : plots::vermilion, good ? "good pixels" : "bad pixels", 0.8};
    for (const LightLevel& level : c.levels)
        for (std::size_t i = 0; i < c.sample.size(); ++i)
            if ((c.faults[std::size_t(c.sample[i])] == PixelFault::none) == good)
                dots.points.push_back({level.sample_mean_adu[i], level.sample_variance_adu2[i]});
    return dots;
}

plots::Panel transfer_panel(const CameraCalibration& c) {
    plots::Panel panel;
    panel.title = fmt::format("Photon transfer: gain ({:.5f} ± {:.5f}) e-/ADU", c.sensor_gain, c.sensor_gain_error);
    panel.x.label = "Mean above the offset (ADU)", panel.y.label = "Variance (ADU²)";
    panel.x.is_log = panel.y.is_log = true;
    panel.dots.push_back(sample_dots(c, true));
    if (plots::Dots bad = sample_dots(c, false); !bad.points.empty()) panel.dots.push_back(std::move(bad));
    const auto [dimmest, brightest] = std::minmax_element(
        c.levels.begin(), c.levels.end(), [](const auto& a, const auto& b) { return a.mean_adu < b.mean_adu; });
    panel.x.low = std::max(dimmest->mean_adu, 1e-3) / 2, panel.x.high = 2 * brightest->mean_adu;
    plots::Curve line{{}, plots::blue, "fitted line"};
    constexpr int line_points = 100;
    for (int k = 0; k <= line_points; ++k) {
        const double x = panel.x.low * std::pow(panel.x.high / panel.x.low, double(k) / line_points);
        line.points.push_back({x, c.sensor_readvar_adu2 + x * c.gain_per_slope() / c.sensor_gain});
    }
    panel.curves.push_back(std::move(line));
    plots::Dots levels{{}, plots::black, "medians of levels", 3.5};
    for (const LightLevel& level : c.levels) levels.points.push_back({level.mean_adu, level.variance_adu2});
    panel.dots.push_back(std::move(levels));
    return panel;
}

/// The largest box with the sensor's proportions.
plots::Box sensor_box(const CameraCalibration& c, double left, double top) {
    constexpr double width = 250, height = 260;
    const double px = std::min(width / c.width, height / c.height);
    return {left, top, px * c.width, px * c.height};
}

}  // namespace

plots::Figure calibration_figure(const CameraCalibration& c) {
    constexpr double step = 400, left = 80, top = 50, second_row = 430;
    const bool has_light = !c.levels.empty();
    plots::Figure figure{1200, has_light ? 800.0 : 420.0, {}, {}};
    std::vector<plots::Panel> panels;
    for (const MapPicture& map : maps_of(c)) panels.push_back(map_panel(c, map));
    panels.push_back(faults_panel(c));
    for (std::size_t k = 0; k < panels.size(); ++k)
        figure.panels.push_back({std::move(panels[k]), sensor_box(c, left + step * double(k % 3),
                                                                  top + (k < 3 ? 0 : second_row - top + 30))});
    if (has_light) figure.panels.push_back({transfer_panel(c), {480, second_row + 40, 680, 260}});
    return figure;
}

}  // namespace glint::cli
