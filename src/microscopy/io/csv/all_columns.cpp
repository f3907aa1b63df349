// Every column of Localizations under its name and in its own unit, so that no value is rounded.
// SPDX-License-Identifier: MIT
#include "io/csv/columns.hpp"
#include "io/localization_formats.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "io/csv/cells.hpp"
#include "io/picasso/metadata.hpp"

namespace glint {
namespace {

namespace fs = std::filesystem;
using L = Localizations;
using SortedJson = nlohmann::json;

constexpr std::string_view first_line_begins = "# glint localizations 1",
                           movie_begins = "# movie: ", step_begins = "# step: ";

constexpr std::size_t max_steps = 1000;

std::string header_of(const LocalizationColumn& column) {
    return column.unit.empty() ? std::string(column.name) : fmt::format("{} [{}]", column.name, column.unit);
}

/// Returns true if a column has that header. An extra column of that name would be read as this column.
bool is_own_header(const std::string& header) {
    if (header == "frame" || header == "iterations" || header == "status") return true;
    return std::any_of(localization_columns().begin(), localization_columns().end(),
                       [&](const LocalizationColumn& column) { return header == header_of(column); });
}

/// Returns true if a reader maps the extra column's name back to it. The builder also knows an older name of
/// log_likelihood.
bool has_place(const std::string& name) {
    if (name == "likelihood" || is_own_header(name)) return false;
    const auto is_name = [&](const LocalizationColumn& column) { return name == column.name; };
    return survives_as_header(name) &&
           std::none_of(localization_columns().begin(), localization_columns().end(), is_name);
}

std::vector<CellColumn> cell_columns_of(const L& like) {
    std::vector<CellColumn> columns;
    columns.push_back({"frame", CellColumn::whole, [](const L& t, std::size_t k) { return double(t.frame[k]); }});
    for (const LocalizationColumn& column : localization_columns())
        if (!(like.*column.values).empty())
            columns.push_back({header_of(column), CellColumn::measured,
                               [of = column.values](const L& t, std::size_t k) { return double((t.*of)[k]); }});
    if (!like.iterations.empty())
        columns.push_back(
            {"iterations", CellColumn::whole, [](const L& t, std::size_t k) { return double(t.iterations[k]); }});
    if (!like.status.empty())
        columns.push_back({"status", CellColumn::whole, [](const L& t, std::size_t k) { return double(t.status[k]); }});
    for (const auto& [name, column] : like.extra)
        if (has_place(name)) columns.push_back(copied_column(like, name));
    return columns;
}

/// The comments in front of the header: the movie, and one line for each step of the history.
std::string comments_of(const fs::path& path, const L& like, const Warn& warn) {
    const SortedJson movie = {
        {"Width", like.width}, {"Height", like.height}, {"Frames", like.frames}, {"Pixelsize", like.pixel_size_nm}};
    std::string text = fmt::format("{}: px and nm, frames from 0, the first pixel's centre is 0\n{}{}\n",
                                   first_line_begins, movie_begins, movie.dump());
    std::size_t too_long = 0;
    for (const std::string& step : like.history) {
        const std::string list = to_json({step});  // "[{...}]", or "[]" if the step is not a mapping
        if (list.size() <= 2 || list.size() >= largest_metadata_bytes - step_begins.size())
            ++too_long;
        else
            text += fmt::format("{}{}\n", step_begins, list);
    }
    if (too_long > 0 && warn)
        warn(fmt::format("{}: {} steps of the history are no mappings, or longer than {} bytes, and are not written",
                         path.string(), too_long, largest_metadata_bytes));
    return text;
}

double movie_number(const SortedJson& movie, const char* key, double largest) {
    const auto found = movie.find(key);
    if (found == movie.end() || !found->is_number()) return 0;
    const double value = found->get<double>();
    return value > 0 && value <= largest ? value : 0;
}

}  // namespace

bool begins_all_columns(std::string_view first_line) { return first_line.starts_with(first_line_begins); }

void add_comment(std::string_view line, L& about) {
    if (line.starts_with(step_begins) && about.history.size() < max_steps) {
        int bad = 0;
        for (std::string& step : steps_from_json(std::string(line.substr(step_begins.size())), bad))
            about.history.push_back(std::move(step));
    }
    if (!line.starts_with(movie_begins)) return;
    constexpr std::size_t longest = 4096;  // the line contains only four numbers
    if (line.size() > longest) return;
    const SortedJson movie = SortedJson::parse(line.substr(movie_begins.size()), nullptr, false);
    if (!movie.is_object()) return;
    about.width = int(movie_number(movie, "Width", 1e6)), about.height = int(movie_number(movie, "Height", 1e6));
    about.frames = std::int64_t(movie_number(movie, "Frames", 4294967296.0));
    if (const double pixel = movie_number(movie, "Pixelsize", 1e6); pixel > 0) about.pixel_size_nm = pixel;
}

CsvHeader header_of_all_columns(const std::vector<std::string_view>& cells) {
    CsvHeader header;
    header.first_frame = 0;
    header.is_first_frame_known = header.from_centre = true;
    for (const std::string_view cell : cells) {
        const std::string text(cell);
        CsvColumn column{text, {text}, is_own_header(text)};
        for (const LocalizationColumn& own : localization_columns())
            if (text == header_of(own)) column.names = {std::string(own.name)};
        if (text.empty()) column.names.clear();
        header.columns.push_back(std::move(column));
    }
    return header;
}

std::vector<std::string> left_out_of_all_columns(const L& like) {
    std::vector<std::string> names;
    for (const auto& [name, column] : like.extra)
        if (!column.values.empty() && !has_place(name)) names.push_back(name);
    return names;
}

FormatWriter write_all_columns(const fs::path& path, const L& like, const Target& target) {
    return write_cells(path, cell_columns_of(like), comments_of(path, like, target.warn), target);
}

TableFormat all_columns_tables() {
    return {.name = "CSV with every column",
            .endings = {".all.csv"},
            .is = [](const TableContent& content) { return begins_all_columns(content.beginning); },
            .open = open_csv,
            .write = [](const fs::path& path, const Localizations& like, std::size_t,
                        const Target& target) { return write_all_columns(path, like, target); },
            .left_out = left_out_of_all_columns,
            .cannot_hold = "columns whose names end in a unit or have line ends",
            .history = history_in<open_csv>};
}

}  // namespace glint
