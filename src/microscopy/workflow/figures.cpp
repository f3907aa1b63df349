// Plots of a run's results, from the tables in figures/.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>

#include "glint/error.hpp"
#include "plot/write_figure.hpp"
#include "workflow/number_table.hpp"
#include "workflow/step.hpp"

namespace glint {
namespace {

namespace fs = std::filesystem;
using Json = RunRecord::Json;

constexpr double figure_width = 800, figure_height = 500;
constexpr const char* drawing = "figures 2";  // of the key: another number draws all figures again

struct RunFigure {
    std::string name;
    plots::Panel panel;
};

std::string with_error(const Json& results, const char* value, const char* error) {
    if (!results.contains(value) || !results[value].is_number()) return "not determined";
    return results.contains(error) && results[error].is_number()
               ? fmt::format("({:.3g} ± {:.2g}) nm", results[value].get<double>(), results[error].get<double>())
               : fmt::format("{:.3g} nm", results[value].get<double>());
}

plots::Panel panel_of(std::string title, std::string x, std::string y) {
    plots::Panel panel;
    panel.title = std::move(title), panel.x.label = std::move(x), panel.y.label = std::move(y);
    return panel;
}

/// Bars of the second column at the places in the first.
plots::Bars bars_of(const NumberTable& table, std::string name) {
    const std::vector<double>&at = table.column(0), &count = table.column(1);
    plots::Bars bars{{}, at.size() > 1 ? at[1] - at[0] : 1, {120, 178, 218}, std::move(name)};
    for (std::size_t k = 0; k < at.size(); ++k) bars.tops.push_back({at[k], count[k]});
    return bars;
}

std::vector<plots::Point> points_of(const NumberTable& table, std::size_t column) {
    std::vector<plots::Point> points;
    for (std::size_t k = 0; k < table.rows(); ++k) points.push_back({table.column(0)[k], table.column(column)[k]});
    return points;
}

plots::Panel histogram(const NumberTable& table, const char* title, const char* x) {
    plots::Panel panel = panel_of(title, x, "Localizations");
    panel.bars.push_back(bars_of(table, ""));
    return panel;
}

/// Curves with bands of one standard error.
plots::Panel drift_panel(const NumberTable& table) {
    constexpr std::size_t max_points = 2000;
    constexpr plots::Color colors[] = {plots::vermilion, plots::blue, plots::green};
    plots::Panel panel = panel_of("Drift of the sample, with its standard error", "Frame", "Drift (nm)");
    const std::size_t every = std::max<std::size_t>(1, table.rows() / max_points);
    for (std::size_t axis = 0; 2 + 2 * axis < table.columns() && axis < 3; ++axis) {
        const std::vector<double>&value = table.column(1 + 2 * axis), &error = table.column(2 + 2 * axis);
        plots::Band band{{}, {}, {}, colors[axis]};
        plots::Curve curve{{}, colors[axis], std::string(1, "xyz"[axis])};
        for (std::size_t k = 0; k < table.rows(); k += every) {
            const double frame = table.column(0)[k];
            curve.points.push_back({frame, value[k]});
            band.x.push_back(frame), band.low.push_back(value[k] - error[k]), band.high.push_back(value[k] + error[k]);
        }
        panel.curves.push_back(std::move(curve)), panel.bands.push_back(std::move(band));
    }
    return panel;
}

plots::Panel counts_panel(const NumberTable& table) {
    plots::Panel panel = panel_of("Localizations per frame", "Frame", "Localizations per frame");
    panel.y.low = 0;
    panel.curves.push_back({points_of(table, 1), plots::blue, "", 1.5});
    return panel;
}

plots::Panel nena_panel(const NumberTable& table, const Json& measured) {
    plots::Panel panel =
        panel_of("Nearest neighbours in the next frame: NeNA " + with_error(measured, "nena_nm", "nena_error_nm"),
                 "Distance (nm)", "Pairs");
    panel.bars.push_back(bars_of(table, "pairs"));
    panel.curves.push_back({points_of(table, 2), plots::vermilion, "fit"});
    return panel;
}

plots::Panel frc_panel(const NumberTable& table, const Json& measured) {
    plots::Panel panel = panel_of("Fourier ring correlation: " + with_error(measured, "frc_nm", "frc_error_nm"),
                                  "Spatial frequency (1/nm)", "Correlation");
    panel.y.low = -0.2, panel.y.high = 1.05;
    panel.dots.push_back({points_of(table, 1), {150, 190, 220}, "rings", 1.2});
    panel.curves.push_back({points_of(table, 2), plots::blue, "smoothed"});
    const double last = table.rows() > 0 ? table.column(0).back() : 1;
    panel.curves.push_back({{{0, 1 / 7.0}, {last, 1 / 7.0}}, plots::grey, "1/7", 1.5, true});
    return panel;
}

/// Returns the figures that have data: two rows of numbers.
std::vector<RunFigure> all_figures(const RunRecord& record) {
    const Json measured = record.results("resolution");
    std::vector<RunFigure> to;
    const auto add = [&](const char* name, std::size_t columns, const auto& make) {
        const NumberTable table = NumberTable::read(record.path(fmt::format("figures/{}.csv", name)));
        if (table.columns() >= columns && table.finite_rows(1) >= 2) to.push_back({name, make(table)});
    };
    add("drift", 5, drift_panel);
    add("photons", 2,
        [](const NumberTable& table) { return histogram(table, "Photons of a localization", "Photons"); });
    add("precision", 2, [](const NumberTable& table) {
        return histogram(table, "Stated precision (CRLB), along an axis", "Precision (nm)");
    });
    add("counts", 2, counts_panel);
    add("nena", 3, [&](const NumberTable& table) { return nena_panel(table, measured); });
    add("frc", 3, [&](const NumberTable& table) { return frc_panel(table, measured); });
    return to;
}

}  // namespace

void draw_figures(const StepContext& context, const std::string& keys) {
    std::vector<RunFigure> figures = all_figures(context.record);
    std::vector<std::string> files;
    for (const RunFigure& figure : figures)
        for (const std::string& format : context.recipe.figures)
            files.push_back(fmt::format("figures/{}.{}", figure.name, format));
    do_step(context, "figures", section_text(context.recipe, "figures") + keys + drawing, files, [&] {
        for (RunFigure& figure : figures) {
            const plots::Figure drawn = plots::figure_of({std::move(figure.panel)}, figure_width, figure_height);
            for (const std::string& format : context.recipe.figures) {
                if (context.stop.load()) throw Cancelled("stopped while figures were drawn");
                plots::write_figure(context.record.path(fmt::format("figures/{}.{}", figure.name, format)), drawn);
            }
        }
        return Json::object();
    });
}

}  // namespace glint
