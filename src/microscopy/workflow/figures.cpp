// Plots of a run's results. Each plot consists of data, a gnuplot script that users may edit, and pictures.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "base/arena.hpp"
#include "glint/error.hpp"
#include "workflow/gnuplot.hpp"
#include "workflow/step.hpp"

namespace glint {
namespace {

namespace fs = std::filesystem;
using Json = RunRecord::Json;

struct Figure {
    std::string name;
    std::string data;  ///< path relative to figures/
    std::string plot;  ///< gnuplot's commands
};

std::string with_error(const Json& results, const char* value, const char* error) {
    if (!results.contains(value) || !results[value].is_number()) return "not determined";
    return results.contains(error) && results[error].is_number()
               ? fmt::format("({:.3g} ± {:.2g}) nm", results[value].get<double>(), results[error].get<double>())
               : fmt::format("{:.3g} nm", results[value].get<double>());
}

std::string bars(const char* title, const char* x, const char* file) {
    return fmt::format(
        "set title '{}'\nset xlabel '{}'\nset ylabel 'Localizations'\nset style fill solid 0.6\nset yrange [0:*]\n"
        "plot '{}' skip 1 using 1:2 with boxes notitle\n",
        title, x, file);
}

/// Returns commands for curves with bands of one standard error.
std::string drift_plot(const RunRecord& record) {
    constexpr int max_points = 2000;
    const std::int64_t frames = record.results("localize").value("frames", std::int64_t(1));
    const std::string every = fmt::format("skip 1 every {}", std::max<std::int64_t>(1, frames / max_points));
    std::string header;
    std::ifstream in(record.path("figures/drift.csv"));
    std::getline(in, header);
    std::string text =
        "set title 'Drift of the sample, with its standard error'\nset xlabel 'Frame'\nset ylabel 'Drift (nm)'\n"
        "set key outside right\nset style fill transparent solid 0.3 noborder\nplot ";
    const char* colors[] = {"#d62728", "#1f77b4", "#2ca02c"};
    for (int axis = 0, value = 2; axis < (header.find(",z_nm") == header.npos ? 2 : 3); ++axis, value += 2)
        text += fmt::format(
            "{0}'drift.csv' {1} using 1:(${2}-${3}):(${2}+${3}) with filledcurves lc rgb '{4}' notitle, "
            "'' {1} using 1:{2} with lines lc rgb '{4}' title '{5}'",
            axis ? ", \\\n  " : "", every, value, value + 1, colors[axis], "xyz"[axis]);
    return text + "\n";
}

std::vector<Figure> all_figures(const RunRecord& record) {
    const Json measured = record.results("resolution");
    return {
        {"drift", "drift.csv", drift_plot(record)},
        {"photons", "photons.csv", bars("Photons of a localization", "Photons", "photons.csv")},
        {"precision", "precision.csv",
         bars("Stated precision (CRLB), along an axis", "Precision (nm)", "precision.csv")},
        {"counts", "counts.csv",
         "set title 'Localizations per frame'\nset xlabel 'Frame'\nset ylabel 'Localizations per frame'\nset yrange "
         "[0:*]\n"
         "plot 'counts.csv' skip 1 using 1:2 with lines notitle\n"},
        {"nena", "nena.csv",
         fmt::format("set title 'Nearest neighbours in the next frame: NeNA {}'\nset xlabel 'Distance (nm)'\nset "
                     "ylabel 'Pairs'\n"
                     "set style fill solid 0.4\nset yrange [0:*]\n"
                     "plot 'nena.csv' skip 1 using 1:2 with boxes title 'pairs', '' skip 1 using 1:3 with lines lw 2 "
                     "title 'fit'\n",
                     with_error(measured, "nena_nm", "nena_error_nm"))},
        {"frc", "frc.csv",
         fmt::format("set title 'Fourier ring correlation: {}'\nset xlabel 'Spatial frequency (1/nm)'\nset ylabel "
                     "'Correlation'\n"
                     "set yrange [-0.2:1.05]\n"
                     "plot 'frc.csv' skip 1 using 1:2 with points pt 7 ps 0.3 title 'rings', '' skip 1 using 1:3 with "
                     "lines lw 2 title "
                     "'smoothed', 1/7.0 with lines dt 2 title '1/7'\n",
                     with_error(measured, "frc_nm", "frc_error_nm"))},
    };
}

/// Returns the script. Its first line contains the hash of all other lines, which reveals later edits.
std::string script_of(const Figure& figure) {
    const std::string text = fmt::format(
        "# Draws {0} in this folder: gnuplot {1}.gp, or gnuplot -e \"format='svg'\" {1}.gp (png, svg, pdf). Edit it as "
        "you like: glint\n"
        "# run keeps scripts that were edited, and draws with them.\n{2}"
        "set datafile separator comma\nset datafile missing 'nan'\nset grid lc rgb '#dddddd'\n{3}",
        figure.data, figure.name, script_of_plot(figure.name, 800, 500), figure.plot);
    return fmt::format("# glint run {}\n{}", hash_text(text), text);
}

bool is_own_script(const std::string& script) {
    const std::size_t end = script.find('\n');
    return end != script.npos && script.substr(0, end) == "# glint run " + hash_text(script.substr(end + 1));
}

std::string content_of(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

/// Returns true if two rows contain numbers: gnuplot reports an error if there is nothing to draw.
bool has_data(const fs::path& file) {
    int rows = 0;
    const std::string text = content_of(file);
    for (std::size_t line = text.find('\n'); line != text.npos && rows < 2; line = text.find('\n', line + 1)) {
        const std::size_t comma = text.find(',', line + 1);
        if (comma == text.npos) break;
        const char* number = text.c_str() + comma + 1;
        char* end = nullptr;
        const double value = std::strtod(number, &end);
        if (end != number && std::isfinite(value)) ++rows;
    }
    return rows == 2;
}

class Drawing {
  public:
    Drawing(const StepContext& context, std::string gnuplot) : context_(context), gnuplot_(std::move(gnuplot)) {}

    void write_script(const Figure& figure) {
        const std::string script = "figures/" + figure.name + ".gp";
        const fs::path there = context_.record.path(script);
        if (const std::string old = content_of(there); old.empty() || is_own_script(old))
            write_step_text(context_, script, script_of(figure));
        else
            context_.notice(fmt::format("{} was edited, and is kept", there.string()));
        for (const std::string& format : context_.recipe.figures)
            if (!gnuplot_.empty()) pictures_.push_back({figure.name, format, ""});
    }

    /// Draws the pictures of all scripts, each in its own process. Runs as many processes in parallel as there are
    /// threads.
    void draw(int threads) {
        std::atomic<bool> has_failed = false;
        in_arena_of(threads, [&] {
            tbb::parallel_for(
                std::size_t(0), pictures_.size(),
                [&](std::size_t k) {
                    if (has_failed) return;
                    Picture& one = pictures_[k];
                    one.failed = draw_plot(gnuplot_, context_.record.path("figures"), one.name + ".gp", one.file(),
                                           one.format, context_.stop);
                    if (!one.failed.empty()) has_failed = true;
                },
                tbb::simple_partitioner());
        });
        for (const Picture& one : pictures_) {
            if (one.failed.empty()) continue;
            failed_ = one.failed;
            return context_.warn(fmt::format(
                "{}: gnuplot did not draw {}: {}. The tables are not touched by that; the same command tries "
                "again, and [figures] formats = [] leaves plots out",
                context_.name, (context_.record.path("figures") / one.file()).string(), failed_));
        }
    }

    /// Removes the script of a figure without data, unless it was edited.
    void leave_out(const Figure& figure) {
        const fs::path there = context_.record.path("figures/" + figure.name + ".gp");
        std::error_code none;
        if (is_own_script(content_of(there))) fs::remove(there, none);
    }

    Json results() const {
        Json json{{"gnuplot", gnuplot_}};
        if (!failed_.empty()) json["failed"] = failed_;
        return json;
    }

  private:
    struct Picture {
        std::string name, format, failed;
        std::string file() const { return fmt::format("{}.{}", name, format); }
    };

    const StepContext& context_;
    std::string gnuplot_, failed_;
    std::vector<Picture> pictures_;
};

}  // namespace

void draw_figures(const StepContext& context, const std::string& keys, int threads) {
    std::vector<Figure> figures, empty;
    for (Figure& figure : all_figures(context.record))
        (has_data(context.record.path("figures/" + figure.data)) ? figures : empty).push_back(std::move(figure));
    const std::string gnuplot = context.recipe.figures.empty() ? "" : find_gnuplot();
    std::vector<std::string> pictures;
    for (const Figure& figure : figures)
        for (const std::string& format : context.recipe.figures)
            pictures.push_back(fmt::format("figures/{}.{}", figure.name, format));
    do_step(context, "figures", section_text(context.recipe, "figures") + keys + gnuplot, pictures, [&] {
        if (gnuplot.empty() && !context.recipe.figures.empty())
            context.notice(
                fmt::format("{}: no plots, since gnuplot is not installed (Debian: apt install gnuplot-nox): data and "
                            "scripts are in {}",
                            context.name, context.record.path("figures").string()));
        Drawing drawing(context, gnuplot);
        for (const Figure& figure : empty) drawing.leave_out(figure);
        for (const Figure& figure : figures) drawing.write_script(figure);
        drawing.draw(threads);
        return drawing.results();
    });
}

}  // namespace glint
