// Collects the records of all movies into a table.
// SPDX-License-Identifier: MIT
#include "workflow/summary.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "glint/error.hpp"
#include "io/files/atomic_file.hpp"
#include "plot/write_figure.hpp"
#include "workflow/csv_text.hpp"
#include "workflow/number_table.hpp"

namespace glint {
namespace {

namespace fs = std::filesystem;
using Json = RunRecord::Json;

/// A column, with the step and the result that it contains.
struct Column {
    const char* name;
    const char* step;
    const char* result;
};

constexpr Column columns[] = {
    {"frames", "localize", "frames"},
    {"spots", "localize", "spots"},
    {"localizations", "localize", "localizations"},
    {"noise_check", "localize", "noise_check"},
    {"kept", "resolution", "rows"},
    {"drift_rms_nm", "drift", "drift_rms_nm"},
    {"drift_error_nm", "drift", "drift_error_nm"},
    {"photons", "resolution", "median_photons"},
    {"background", "resolution", "median_background"},
    {"precision_nm", "resolution", "median_precision_nm"},
    {"nena_nm", "resolution", "nena_nm"},
    {"nena_error_nm", "resolution", "nena_error_nm"},
    {"frc_nm", "resolution", "frc_nm"},
    {"frc_error_nm", "resolution", "frc_error_nm"},
    {"in_track_b", "link", "in_track_b"},
    {"in_track_b_error", "link", "in_track_b_error"},
    {"molecules", "render", "rows"},
};

std::string header() {
    std::string text = "movie,status";
    for (const Column& column : columns) text += std::string(",") + column.name;
    return text + ",warnings,error,recipe,condition";
}

std::string cell_text(const std::string& column, const Json& value) {
    if (value.is_null()) return "";
    if (value.is_array())
        return value.empty() ? "" : csv_text(fmt::format("{}", fmt::join(value.get<std::vector<std::string>>(), "; ")));
    if (column == "error") return csv_text(value.get<std::string>());
    return value.is_string() ? value.get<std::string>() : value.dump();
}

/// Returns mean and standard error of a column over the movies; "nan" with fewer than two values, or without any.
std::string mean_text(const std::vector<Json>& movies, const char* column) {
    std::vector<double> values;
    for (const Json& figures : movies)
        if (figures[column].is_number()) values.push_back(figures[column].get<double>());
    const double n = double(values.size());
    if (values.empty()) return ",nan,nan";
    const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
    if (values.size() == 1) return fmt::format(",{:.6g},nan", mean);
    double squares = 0;
    for (const double value : values) squares += (value - mean) * (value - mean);
    return fmt::format(",{:.6g},{:.6g}", mean, std::sqrt(squares / (n - 1) / n));
}

/// Writes conditions.csv if there are at least two conditions. Returns true if it was written.
bool write_conditions(const fs::path& folder, const std::map<std::string, std::vector<Json>>& conditions) {
    if (conditions.size() < 2) {  // a file of an earlier recipe is outdated
        for (const char* name : {"conditions.csv", "conditions.png", "conditions.svg"}) {
            std::error_code failed;
            fs::remove(folder / name, failed);
            if (failed)
                throw OutputError(fmt::format("{} is out of date and cannot be removed: {}", (folder / name).string(),
                                              failed.message()));
        }
        return false;
    }
    std::string text = "condition,movies";
    for (const Column& column : columns) text += fmt::format(",{0},{0}_error_of_mean", column.name);
    for (const auto& [name, movies] : conditions) {
        text += fmt::format("\n{},{}", csv_text(name), movies.size());
        for (const Column& column : columns) text += mean_text(movies, column.name);
    }
    AtomicFile file(folder / "conditions.csv");
    file.write(text + "\n");
    file.commit();
    return true;
}

}  // namespace

Json run_figures(const Json& record) {
    Json steps = record.value("steps", Json::object());
    const Json begun = record.value("begun", Json::object());
    for (const auto& item : begun.items()) steps.erase(item.key());  // results of an earlier recipe
    Json figures{{"status", record.value("status", "unfinished")}};
    for (const Column& column : columns) {
        const Json results = steps.value(column.step, Json::object()).value("results", Json::object());
        figures[column.name] = results.contains(column.result) ? results[column.result] : Json();
    }
    figures["warnings"] = Json::array();
    for (const Json& step : steps) {
        const Json warnings = step.value("results", Json::object()).value("warnings", Json::array());
        figures["warnings"].insert(figures["warnings"].end(), warnings.begin(), warnings.end());
    }
    figures["error"] = record.contains("error") ? record["error"] : Json();
    return figures;
}

bool may_become_summary(const fs::path& file) {
    std::error_code none;
    if (!fs::exists(file, none)) return true;
    std::string line;
    std::ifstream in(file);
    return std::getline(in, line) &&
           (line.starts_with("movie,status,frames,") || line.starts_with("condition,movies,"));
}

bool write_run_summary(const fs::path& folder, const std::string& recipe) {
    std::vector<fs::path> movies;
    std::error_code failed;
    for (fs::directory_iterator entry(folder, failed), end; !failed && entry != end; entry.increment(failed))
        if (fs::exists(entry->path() / "run.json", failed)) movies.push_back(entry->path());
    std::sort(movies.begin(), movies.end());
    std::string text = header() + "\n";
    std::map<std::string, std::vector<Json>> conditions;  // the statistics of their movies
    std::set<std::pair<std::string, std::string>> counted;
    for (const fs::path& movie : movies) {
        const Json record = RunRecord::read(movie);
        if (!record.is_object()) continue;
        text += csv_text(movie.filename().string());
        const Json figures = run_figures(record);
        for (const auto& item : figures.items()) {
            const Json& value = item.value();
            text += "," + cell_text(item.key(), value);
        }
        const std::string condition = record.value("condition", "");
        const bool is_current = record.value("recipe", recipe) == recipe;
        text += is_current ? ",current," : ",earlier,";
        text += csv_text(condition) + "\n";
        // A movie has two folders if an earlier command named its folder without the condition.
        const std::string content = record.value("movie", Json::object()).value("content", movie.string());
        if (is_current && figures["status"] == "complete" && !condition.empty() &&
            counted.emplace(condition, content).second)
            conditions[condition].push_back(figures);
    }
    AtomicFile file(folder / "summary.csv");
    file.write(text);
    file.commit();
    return write_conditions(folder, conditions);
}

void draw_conditions(const fs::path& folder, const std::vector<std::string>& formats) {
    const NumberTable table = NumberTable::read(folder / "conditions.csv");
    plots::Figure figure{1000, 800, {}, {}};
    for (const auto& [name, title] : {std::pair("localizations", "Localizations"),
                                      {"precision_nm", "Stated precision (nm)"},
                                      {"nena_nm", "NeNA (nm)"},
                                      {"frc_nm", "FRC (nm)"}}) {
        const std::vector<double>*mean = table.find(name), *error = table.find(std::string(name) + "_error_of_mean");
        plots::Panel panel;
        panel.title = title, panel.x.names = table.first_texts();
        panel.x.low = -0.5, panel.x.high = double(table.rows()) - 0.5;
        for (std::size_t k = 0; mean && error && k < table.rows(); ++k) {
            const double at = double(k), value = (*mean)[k], bar = (*error)[k];
            panel.curves.push_back({{{at, value - bar}, {at, value + bar}}, plots::blue});
            panel.dots.push_back({{{at, value}}, plots::blue, "", 4});
        }
        const auto place = figure.panels.size();
        figure.panels.push_back(
            {std::move(panel), {90 + 500 * double(place % 2), 40 + 395 * double(place / 2), 380, 300}});
    }
    for (const std::string& format : formats) plots::write_figure(folder / ("conditions." + format), figure);
}

}  // namespace glint
