// Collects the records of all movies into a table.
// SPDX-License-Identifier: MIT
#include "cli/run/summary.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "cli/csv_text.hpp"
#include "io/files/atomic_file.hpp"

namespace glint::cli {
namespace {

namespace fs = std::filesystem;
using Json = Record::Json;

/// A column, and the step and the result that it is.
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
    return text + ",warnings,error,recipe";
}

std::string cell_text(const std::string& column, const Json& value) {
    if (value.is_null()) return "";
    if (value.is_array())
        return value.empty() ? "" : csv_text(fmt::format("{}", fmt::join(value.get<std::vector<std::string>>(), "; ")));
    if (column == "error") return csv_text(value.get<std::string>());
    return value.is_string() ? value.get<std::string>() : value.dump();
}

}  // namespace

Json run_figures(const Json& record) {
    Json steps = record.value("steps", Json::object());
    const Json begun = record.value("begun", Json::object());
    for (const auto& item : begun.items()) steps.erase(item.key());  // of an earlier recipe
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
    return std::getline(in, line) && line.starts_with("movie,status,frames,");
}

void write_run_summary(const fs::path& folder, const std::string& recipe) {
    std::vector<fs::path> movies;
    std::error_code failed;
    for (fs::directory_iterator entry(folder, failed), end; !failed && entry != end; entry.increment(failed))
        if (fs::exists(entry->path() / "run.json", failed)) movies.push_back(entry->path());
    std::sort(movies.begin(), movies.end());
    std::string text = header() + "\n";
    for (const fs::path& movie : movies) {
        const Json record = Record::read(movie);
        if (!record.is_object()) continue;
        text += csv_text(movie.filename().string());
        const Json figures = run_figures(record);
        for (const auto& item : figures.items()) {
            const Json& value = item.value();
            text += "," + cell_text(item.key(), value);
        }
        text += record.value("recipe", recipe) == recipe ? ",current\n" : ",earlier\n";
    }
    AtomicFile file(folder / "summary.csv");
    file.write(text);
    file.commit();
}

}  // namespace glint::cli
