// `glint formats`: lists the formats of movies and tables, from the same lists that the readers and writers use.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/console.hpp"
#include "cli/print.hpp"
#include "glint/localization_io.hpp"
#include "glint/movie_formats.hpp"

namespace glint::cli {
namespace {

constexpr const char* formats_footer = R"(
Examples:
  glint formats
  glint formats --json
  glint formats --markdown > formats.md

The content of a movie or table decides the format in which it is read. The name of an output
decides the format in which it is written. docs/reference/formats.md has the details of each format.)";

struct FormatsFlags {
    bool markdown = false, json = false;
};

std::vector<std::string> words_of(const char* text) {
    std::istringstream words(text);
    std::vector<std::string> all;
    for (std::string word; words >> word;) all.push_back(word);
    return all;
}

std::string joined(const std::vector<std::string>& words) { return fmt::format("{}", fmt::join(words, " ")); }

const char* access(const LocalizationFormat& format) { return format.is_written ? "read, written" : "read"; }

void print_as_json() {
    nlohmann::ordered_json movies = nlohmann::ordered_json::array(), tables = nlohmann::ordered_json::array();
    for (const MovieFormatText& movie : movie_formats())
        movies.push_back({{"name", movie.name},
                          {"program", movie.program},
                          {"endings", words_of(movie.endings)},
                          {"not_read", movie.not_read}});
    for (const LocalizationFormat& table : localization_formats())
        tables.push_back({{"name", table.name},
                          {"endings", table.endings},
                          {"written", table.is_written},
                          {"cannot_hold", table.cannot_hold}});
    print_json({{"movies", movies}, {"tables", tables}});
}

void print_as_markdown() {
    put("# Formats\n\nPrinted by `glint formats --markdown`. [File formats](formats.md) has the details.\n\n## "
        "Movies\n\n"
        "| format | programs | names end in | not read |\n| --- | --- | --- | --- |\n");
    for (const MovieFormatText& movie : movie_formats())
        put("| {} | {} | {} | {} |\n", movie.name, movie.program, movie.endings, movie.not_read);
    put("\n## Tables of localizations\n\n| format | names end in | | does not hold |\n| --- | --- | --- | --- |\n");
    for (const LocalizationFormat& table : localization_formats())
        put("| {} | {} | {} | {} |\n", table.name, joined(table.endings), access(table), table.cannot_hold);
}

/// Prints the texts in columns, each as wide as its longest text.
void print_rows(const std::vector<std::vector<std::string>>& rows) {
    std::vector<std::size_t> widths(rows.front().size());
    for (const auto& row : rows)
        for (std::size_t k = 0; k < row.size(); ++k) widths[k] = std::max(widths[k], row[k].size());
    for (const auto& row : rows) {
        std::string line = " ";
        for (std::size_t k = 0; k < row.size(); ++k) line += fmt::format(" {:<{}}", row[k], widths[k] + 1);
        line.erase(line.find_last_not_of(' ') + 1);
        put("{}\n", line);
    }
}

void print_as_text() {
    std::vector<std::vector<std::string>> movies, tables;
    for (const MovieFormatText& movie : movie_formats()) movies.push_back({movie.name, movie.endings, movie.program});
    for (const LocalizationFormat& table : localization_formats())
        tables.push_back({table.name, joined(table.endings), access(table)});
    put("movies (read)\n");
    print_rows(movies);
    put("tables of localizations\n");
    print_rows(tables);
}

int run(const FormatsFlags& flags) {
    if (flags.json)
        print_as_json();
    else if (flags.markdown)
        print_as_markdown();
    else
        print_as_text();
    return exit_ok;
}

}  // namespace

Command add_formats(CLI::App& program) {
    auto flags = std::make_shared<FormatsFlags>();
    CLI::App* app =
        program.add_subcommand("formats", "Lists the file formats that are read and written")->footer(formats_footer);
    CLI::Option* json =
        app->add_flag("--json", flags->json, "Print as JSON, with the data that is not read or not kept");
    app->add_flag("--markdown", flags->markdown,
                  "Print as a page for a website, with the data that is not read or not kept")
        ->excludes(json);
    return {app, [flags] { return run(*flags); }};
}

}  // namespace glint::cli
