// Opens tables, and compares their pixel size with --pixel-size.
// SPDX-License-Identifier: MIT
#include "cli/flags/table_flags.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "cli/flags/output_flags.hpp"
#include "glint/error.hpp"
#include "glint/localization_io.hpp"
#include "glint/movie_formats.hpp"

namespace glint::cli {
namespace {

template <class ToText>
std::string listed(bool written_alone, ToText text_of) {
    std::vector<std::string> texts;
    for (const LocalizationFormat& format : localization_formats())
        if (format.is_written || !written_alone) texts.push_back(text_of(format));
    return fmt::format("{}", fmt::join(texts, ", "));
}

}  // namespace

const std::vector<std::string>& table_endings() {
    static const std::vector<std::string> endings = [] {
        std::vector<std::string> all;
        for (const LocalizationFormat& format : localization_formats())
            for (const std::string& ending : format.endings)
                // A longer ending is included in the shorter one that it ends in.
                if (std::none_of(all.begin(), all.end(), [&](const std::string& one) { return ending.ends_with(one); }))
                    all.push_back(ending);
        return all;
    }();
    return endings;
}

std::vector<std::string> offered_movie_endings() {
    std::vector<std::string> endings = movie_endings();
    std::erase_if(endings, [](const std::string& ending) {
        const std::vector<std::string>& of_tables = table_endings();
        return std::find(of_tables.begin(), of_tables.end(), ending) != of_tables.end();
    });
    return endings;
}

std::string written_tables() {
    return listed(true, [](const LocalizationFormat& format) { return format.endings.front(); });
}

std::string with_table_names(std::string text) {
    const auto put = [&](std::string_view name, const std::string& names) {
        if (const std::size_t at = text.find(name); at != text.npos) text.replace(at, name.size(), names);
    };
    put("{written}", listed(true, [](const LocalizationFormat& format) {
            return fmt::format("{} {}", format.endings.front(), format.name);
        }));
    put("{readable}", listed(false, [](const LocalizationFormat& format) {
            return fmt::format("{} {}", format.name, format.endings.front());
        }));
    return text;
}

Paths files_of_table(const std::string& table) {
    std::filesystem::path yaml = std::filesystem::path(table).replace_extension(".yaml");
    std::error_code none;
    const bool has_yaml = lower_extension(table) != ".csv" && std::filesystem::exists(yaml, none);
    return has_yaml ? Paths{table, std::move(yaml)} : Paths{table};
}

void require_same_pixels(const std::string& file, double own_nm, double given_nm) {
    if (given_nm > 0 && std::abs(own_nm - given_nm) > 1e-6 * given_nm)
        throw OptionError(
            fmt::format("{} has a pixel size of {:g} nm: leave out --pixel-size {:g}nm, which is for tables without a "
                        "pixel size",
                        file, own_nm, given_nm));
}

void add_text_table_flags(CLI::App& app, TextTableFlags& flags, const std::string& prefix) {
    app.add_option(fmt::format("--{}first-frame", prefix), flags.first_frame,
                   "Number of the first frame in a text table, 0 or 1 (default: inferred from its header and rows)");
    app.add_option(fmt::format("--{}column", prefix), flags.columns,
                   "Name of an unknown column of a text table, as NAME=HEADER: --column bg=Background --column \"x "
                   "[px]=pos_x\"; can be repeated")
        ->allow_extra_args(false);
}

TextConventions text_conventions(const TextTableFlags& flags, const std::string& prefix) {
    TextConventions text;
    if (flags.first_frame == "0" || flags.first_frame == "1")
        text.first_frame = flags.first_frame == "1";
    else if (!flags.first_frame.empty())
        throw OptionError(fmt::format("--{}first-frame {}: give 0 or 1, the number of the first frame of the movie",
                                      prefix, flags.first_frame));
    for (const std::string& column : flags.columns) {
        const auto equals = column.find('=');
        if (equals == 0 || equals == column.npos || equals + 1 == column.size())
            throw OptionError(
                fmt::format("--{0}column {1}: give NAME=HEADER, as in --{0}column bg=Background: glint's name of the "
                            "column, and the "
                            "file's",
                            prefix, column));
        if (!text.columns.emplace(column.substr(0, equals), column.substr(equals + 1)).second)
            throw OptionError(fmt::format("--{}column {} is given twice", prefix, column.substr(0, equals)));
    }
    return text;
}

std::unique_ptr<LocalizationReader> open_table(const std::string& file, double pixel_size_nm,
                                               const TextTableFlags& text, Console& console, const StopFlag& stop,
                                               std::size_t piece_bytes) {
    auto table = std::make_unique<LocalizationReader>(
        file, console.warner(),
        PieceOptions{
            .pixel_size_nm = pixel_size_nm, .piece_bytes = piece_bytes, .stop = &stop, .text = text_conventions(text)});
    require_same_pixels(file, table->like().pixel_size_nm, pixel_size_nm);
    return table;
}

Localizations read_columns(const std::string& file, double pixel_size_nm, const TextTableFlags& text, Console& console,
                           std::span<const std::string_view> columns, const StopFlag& stop) {
    return with_columns(*open_table(file, pixel_size_nm, text, console, stop), columns);
}

}  // namespace glint::cli
