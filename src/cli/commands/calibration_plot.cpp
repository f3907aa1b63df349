// Writes gnuplot's script into a temporary folder, and gnuplot's result to the picture's path.
// SPDX-License-Identifier: MIT
#include "cli/commands/calibrate_camera.hpp"

#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>

#include "base/median.hpp"
#include "cli/flags/output_flags.hpp"
#include "glint/error.hpp"
#include "io/files/atomic_file.hpp"
#include "workflow/gnuplot.hpp"

namespace glint::cli {
namespace {

namespace fs = std::filesystem;

constexpr int max_map_edge = 256;              // of a map in the picture
constexpr std::size_t max_bad_pixels = 20000;  // marks; more would cover the whole picture
constexpr const char* fault_names[] = {"", "hot", "dead", "noisy"};
constexpr const char* fault_colors[] = {"", "#d62728", "#1f77b4", "#ff7f0e"};

/// A map as its picture shows it: means over squares of `edge` pixels. Bad pixels count only if a square has no good
/// one.
struct Panel {
    const char *name, *title;
    std::vector<double> values;
    double low = 0, high = 0;  ///< range of the colours: 1st to 99th percentile
};

int square_edge(const CameraCalibration& c) { return (std::max(c.width, c.height) + max_map_edge - 1) / max_map_edge; }
int squares(int pixels, int edge) { return (pixels + edge - 1) / edge; }

template <class Value>
Panel panel_of(const CameraCalibration& c, const char* name, const char* title, const Value& value) {
    const int edge = square_edge(c), columns = squares(c.width, edge), rows = squares(c.height, edge);
    std::vector<double> sum(std::size_t(columns) * std::size_t(rows)), all(sum), good(sum), number(sum);
    for (std::size_t k = 0; k < c.faults.size(); ++k) {
        const std::size_t x = k % std::size_t(c.width), y = k / std::size_t(c.width), e = std::size_t(edge);
        const std::size_t to = y / e * std::size_t(columns) + x / e;
        all[to] += value(k), number[to] += 1;
        if (c.faults[k] == PixelFault::none) sum[to] += value(k), good[to] += 1;
    }
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] = good[i] > 0 ? sum[i] / good[i] : all[i] / number[i];
    Panel panel{name, title, sum, 0, 0};
    std::sort(sum.begin(), sum.end());
    panel.low = sum[sum.size() / 100], panel.high = sum[sum.size() - 1 - sum.size() / 100];
    if (!(panel.high > panel.low)) panel.low -= 0.5, panel.high += 0.5;
    return panel;
}

std::vector<Panel> panels_of(const CameraCalibration& c) {
    std::vector<Panel> panels;
    panels.push_back(panel_of(c, "offset", "Offset (ADU)", [&](std::size_t k) { return c.offset_adu.value[k]; }));
    const auto noise_adu = [&](std::size_t k) { return std::sqrt(double(c.readvar_adu2.value[k])); };
    const std::vector<float>& gain = c.gain_e_per_adu.value;
    const auto noise_e = [&](std::size_t k) { return noise_adu(k) * (gain.empty() ? c.sensor_gain : double(gain[k])); };
    panels.push_back(c.sensor_gain > 0 ? panel_of(c, "noise", "Read noise (e^- rms)", noise_e)
                                       : panel_of(c, "noise", "Read noise (ADU rms)", noise_adu));
    if (!gain.empty()) panels.push_back(panel_of(c, "gain", "Gain (e^-/ADU)", [&](std::size_t k) { return gain[k]; }));
    return panels;
}

std::string data_of(const CameraCalibration& c, const Panel& panel) {
    const auto columns = std::size_t(squares(c.width, square_edge(c)));
    std::string text = fmt::format("${} << END\n", panel.name);
    for (std::size_t i = 0; i < panel.values.size(); ++i)
        text += fmt::format("{:.6g}{}", panel.values[i], (i + 1) % columns == 0 ? '\n' : ' ');
    return text + "END\n";
}

/// Returns 1, 2 or 5 times a power of ten, such that the longer edge has at most six ticks.
int tick_step(const CameraCalibration& c) {
    const int edge = std::max(c.width, c.height);
    int step = 1;
    for (int k = 0; edge > 5 * step; ++k) step = k % 3 == 1 ? step / 2 * 5 : step * 2;  // 2, 5, 10, 20, ...
    return step;
}

std::string map_axes(const CameraCalibration& c, const std::string& title) {
    return fmt::format(
        "set title '{}'\nset size ratio -1\nset xrange [0:{}]\nset yrange [{}:0]\nset xtics {}\nset ytics {}\nunset "
        "key\n",
        title, c.width, c.height, tick_step(c), tick_step(c));
}

std::string plot_of(const CameraCalibration& c, const Panel& panel) {
    return fmt::format(
        "{}set cbrange [{:.6g}:{:.6g}]\nplot ${} matrix using (($1+0.5)*{}):(($2+0.5)*{}):3 with image\n",
        map_axes(c, panel.title), panel.low, panel.high, panel.name, square_edge(c), square_edge(c));
}

std::string plot_of_faults(const CameraCalibration& c) {
    std::string data, plot, title = "Bad pixels: none";
    for (const PixelFault fault : {PixelFault::hot, PixelFault::dead, PixelFault::noisy}) {
        const std::int64_t count = c.count(fault);
        if (count == 0) continue;
        const int kind = int(fault);
        const std::size_t every = std::size_t(count) / max_bad_pixels + 1;
        data += fmt::format("${} << END\n", fault_names[kind]);
        std::size_t seen = 0;
        for (std::size_t k = 0; k < c.faults.size(); ++k)
            if (c.faults[k] == fault && seen++ % every == 0)
                data += fmt::format("{} {}\n", double(k % std::size_t(c.width)) + 0.5,
                                    double(k / std::size_t(c.width)) + 0.5);
        data += "END\n";
        plot +=
            fmt::format("{}${} using 1:2 with points pt 7 ps 0.5 lc rgb '{}' title '{} ({})'",
                        plot.empty() ? "plot " : ", ", fault_names[kind], fault_colors[kind], fault_names[kind], count);
        title = "Bad pixels";
    }
    if (plot.empty()) plot = "plot NaN notitle";
    return data + map_axes(c, title) + "set key below\n" + plot + "\n";
}

/// Returns means and variances of the sampled pixels in all levels, for the good or the bad pixels.
std::string sample_data(const CameraCalibration& c, const char* name, bool good) {
    std::string text = fmt::format("${} << END\n", name);
    for (const LightLevel& level : c.levels)
        for (std::size_t i = 0; i < c.sample.size(); ++i)
            if ((c.faults[std::size_t(c.sample[i])] == PixelFault::none) == good)
                text += fmt::format("{:.6g} {:.6g}\n", level.sample_mean_adu[i], level.sample_variance_adu2[i]);
    return text + "END\n";
}

std::string plot_of_transfer(const CameraCalibration& c) {
    std::string text = "$levels << END\n";
    for (const LightLevel& level : c.levels)
        text += fmt::format("{:.6g} {:.6g}\n", level.mean_adu, level.variance_adu2);
    text += "END\n" + sample_data(c, "good", true);
    const bool has_bad = std::any_of(c.sample.begin(), c.sample.end(),
                                     [&](std::int64_t k) { return c.faults[std::size_t(k)] != PixelFault::none; });
    if (has_bad) text += sample_data(c, "bad", false);
    const auto [dimmest, brightest] = std::minmax_element(
        c.levels.begin(), c.levels.end(), [](const auto& a, const auto& b) { return a.mean_adu < b.mean_adu; });
    text += fmt::format(
        "set title 'Photon transfer: gain ({:.5f} ± {:.5f}) e^-/ADU'\nset xlabel 'Mean above the offset (ADU)'\n"
        "set ylabel 'Variance (ADU^2)'\nset size noratio\nset xrange [{:.6g}:{:.6g}]\nset yrange [*:*]\nset logscale "
        "xy\nset xtics autofreq\nset ytics autofreq\n"
        "set key inside top left\nset grid lc rgb '#dddddd'\nplot $good using 1:2 with points pt 7 ps 0.2 lc rgb "
        "'#999999' title 'good "
        "pixels', ",
        c.sensor_gain, c.sensor_gain_error, std::max(dimmest->mean_adu, 1e-3) / 2, 2 * brightest->mean_adu);
    if (has_bad) text += "$bad using 1:2 with points pt 1 ps 0.4 lc rgb '#d62728' title 'bad pixels', ";
    return text + fmt::format(
                      "{:.6g} + x / {:.6g} with lines lw 2 lc rgb '#1f77b4' title 'fitted line', "
                      "$levels using 1:2 with points pt 7 ps 0.8 lc rgb 'black' title 'medians of levels'\n",
                      c.sensor_readvar_adu2, c.sensor_gain / c.gain_per_slope());
}

/// A temporary folder, removed by the destructor.
class ScratchFolder {
  public:
    ScratchFolder() : path_((fs::temp_directory_path() / "glint-plot-XXXXXX").string()) {
        if (!::mkdtemp(path_.data()))
            throw OutputError(fmt::format("cannot create the folder {}: {}", path_, std::strerror(errno)));
    }
    ~ScratchFolder() {
        std::error_code none;
        fs::remove_all(path_, none);
    }
    ScratchFolder(const ScratchFolder&) = delete;
    ScratchFolder& operator=(const ScratchFolder&) = delete;
    fs::path path() const { return path_; }

  private:
    std::string path_;
};

}  // namespace

void check_plot(const fs::path& picture, const std::string& instead) {
    const std::string ending = lower_extension(picture);
    if (std::find(plot_endings.begin(), plot_endings.end(), ending) == plot_endings.end())
        throw OptionError(fmt::format("--plot {}: give a name that ends in .png, .svg or .pdf", picture.string()));
    if (find_gnuplot().empty())
        throw OptionError(
            fmt::format("--plot {}: gnuplot is not installed (Debian: apt install gnuplot-nox). Install it, {}",
                        picture.string(), instead));
}

std::string calibration_script(const CameraCalibration& c) {
    const bool light = !c.levels.empty();
    std::string text = script_of_plot("camera", 1200, light ? 800 : 420);
    const std::vector<Panel> panels = panels_of(c);
    for (const Panel& panel : panels) text += data_of(c, panel);
    text += fmt::format(
        "set palette defined (0 '#440154', 1 '#3b528b', 2 '#21918c', 3 '#5ec962', 4 '#fde725')\nset multiplot layout "
        "{},3\n",
        light ? 2 : 1);
    for (const Panel& panel : panels) text += plot_of(c, panel);
    text += plot_of_faults(c);
    if (light) text += "set size 0.66,0.5\nset origin 0.34,0\n" + plot_of_transfer(c);
    return text + "unset multiplot\n";
}

std::string draw_script(const std::string& script, const std::string& name, const fs::path& picture, IfExists if_exists,
                        const StopFlag& stop) {
    const ScratchFolder folder;
    const std::string format = lower_extension(picture).substr(1), drawn = name + "." + format,
                      file_name = name + ".gp";
    std::ofstream out(folder.path() / file_name);
    out << script;
    out.close();
    if (!out) return fmt::format("its data could not be written to {}: is the disk full?", folder.path().string());
    std::string failed = draw_plot(find_gnuplot(), folder.path(), file_name, drawn, format, stop);
    if (!failed.empty()) return failed;
    std::ifstream in(folder.path() / drawn, std::ios::binary);
    const std::string bytes(std::istreambuf_iterator<char>(in), {});
    AtomicFile file(picture, if_exists);
    file.write(bytes);
    file.commit();
    return "";
}

std::string plot_calibration(const CameraCalibration& calibration, const fs::path& picture, IfExists if_exists,
                             const StopFlag& stop) {
    return draw_script(calibration_script(calibration), "camera", picture, if_exists, stop);
}

}  // namespace glint::cli
