// `glint report`: writes an interactive report as one HTML file.
// SPDX-License-Identifier: MIT
#include "glint/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/console.hpp"
#include "cli/flags/choices.hpp"
#include "cli/flags/movie_flags.hpp"
#include "cli/flags/output_flags.hpp"
#include "cli/flags/table_flags.hpp"
#include "cli/process.hpp"
#include "cli/spelling.hpp"
#include "glint/error.hpp"
#include "glint/localizations.hpp"
#include "glint/movie_io.hpp"
#include "glint/run_report.hpp"
#include "glint/units.hpp"

namespace glint::cli {
namespace {

constexpr const char* report_footer = R"(
Examples:
  glint report results/movie -o report.html
  glint report locs.hdf5 -o report.html --movie movie.tif
  glint report thunderstorm.csv -o report.html --pixel-size 100nm --no-resolution
  glint report red.hdf5 green.hdf5 -o report.html

The page shows the localizations in the browser: zoom, colours, filters by dragging on histograms,
distances, line profiles, regions. It is one file, loads nothing from a network, and can be mailed.

A folder of glint run adds its drift curve, resolution, record and raw frames. Several tables are
channels of one picture; all must have the same columns and pixel size.

Positions are rounded by at most 1/8 of the precision, other columns to about 90 steps. The page
shows the `glint filter` command that leaves exactly the rows of its filters.)";

struct ReportFlags {
    std::vector<std::string> tables, movies;
    std::string out, pixel_size;
    bool no_resolution = false, overwrite = false;
    ReportOptions options;
    MovieChoice choice;
    TextTableFlags text;
    ConsoleFlags console;
};

/// Removes columns that the other table lacks.
void keep_common_columns(Localizations& table, const Localizations& other) {
    for (const LocalizationColumn& column : localization_columns())
        if ((other.*column.values).empty()) (table.*column.values).clear();
    if (other.iterations.empty()) table.iterations.clear();
    if (other.status.empty()) table.status.clear();
    std::erase_if(table.extra, [&](const auto& one) { return !other.extra.contains(one.first); });
}

/// Reads several tables as one, with their number as the column `channel`.
Localizations read_channels(const ReportFlags& flags, Console& console, const StopFlag& stop) {
    Localizations all;
    for (std::size_t k = 0; k < flags.tables.size(); ++k) {
        Localizations table =
            all_pieces(*open_table(flags.tables[k], pixel_size_nm(flags.pixel_size), flags.text, console, stop));
        if (table.size() == 0) {
            console.warn(fmt::format("{} has no rows: its channel is empty", flags.tables[k]));
            continue;
        }
        table.extra["channel"] = {std::vector<double>(table.size(), double(k)), true};
        if (all.size() == 0) {
            all = std::move(table);
            continue;
        }
        if (all.pixel_size_nm != table.pixel_size_nm)
            throw OptionError(
                fmt::format("{} has a pixel size of {:g} nm, {} of {:g} nm: tables of one report must have "
                            "the same pixel size",
                            flags.tables[0], all.pixel_size_nm, flags.tables[k], table.pixel_size_nm));
        keep_common_columns(all, table), keep_common_columns(table, all);
        all.width = std::max(all.width, table.width), all.height = std::max(all.height, table.height);
        all.frames = std::max(all.frames, table.frames);
        append(all, table);
    }
    return all;
}

void require_html(const std::string& out) {
    const std::string extension = lower_extension(out);
    if (extension != ".html" && extension != ".htm")
        throw OptionError(fmt::format("-o {}: a report ends in .html", out));
}

/// Throws OptionError for a flag that changes nothing.
void require_used(const ReportFlags& flags, bool is_folder) {
    const char* unused = !is_folder                        ? nullptr
                         : !flags.pixel_size.empty()       ? "--pixel-size"
                         : !flags.text.first_frame.empty() ? "--first-frame"
                         : !flags.text.columns.empty()     ? "--column"
                         : flags.no_resolution             ? "--no-resolution"
                                                           : nullptr;
    if (unused) throw OptionError(fmt::format("{} changes nothing for a folder of glint run: leave it out", unused));
    if (const std::string choice = as_given(flags.choice); !choice.empty() && flags.movies.empty())
        throw OptionError(
            fmt::format("{} changes nothing without --movie: leave it out, or name the movie", choice.substr(1)));
}

void print_report(const ReportFlags& flags, const ReportInfo& info) {
    if (flags.console.json)
        return print_json({{"output", flags.out},
                           {"localizations", info.rows},
                           {"stored", info.stored_rows},
                           {"bytes", info.bytes},
                           {"bytes_of_localizations", info.row_bytes},
                           {"raw_frames", info.raw_frames},
                           {"missing", info.missing}});
    Summary summary;
    summary.add("localizations",
                info.stored_rows == info.rows
                    ? with_commas(std::int64_t(info.rows))
                    : fmt::format("{} of {}, a random sample", with_commas(std::int64_t(info.stored_rows)),
                                  with_commas(std::int64_t(info.rows))));
    if (info.stored_rows > 0)
        summary.add("size", fmt::format("{:.1f} MB, {:.1f} bytes a localization", double(info.bytes) / 1e6,
                                        double(info.row_bytes) / double(info.stored_rows)));
    summary.add("raw frames", info.raw_frames > 0 ? std::to_string(info.raw_frames) : "-");
    for (const std::string& sentence : info.missing) summary.add("missing", sentence);
    summary.add("written", flags.out).print();
}

int run(ReportFlags& flags) {
    require_html(flags.out);
    std::error_code none;
    const bool is_folder = flags.tables.size() == 1 && std::filesystem::is_directory(flags.tables[0], none);
    require_used(flags, is_folder);
    Paths inputs;
    if (is_folder)
        inputs = files_of_table(table_of_run(flags.tables[0]).string());
    else
        for (const std::string& table : flags.tables)
            for (std::filesystem::path& file : files_of_table(table)) inputs.push_back(std::move(file));
    for (const std::string& movie : flags.movies) inputs.emplace_back(movie);
    check_outputs({flags.out}, if_exists(flags.overwrite), inputs);
    ReportOptions& options = flags.options;
    // Who gets the page alone must read them, too.
    Console console(flags.console, [&](const std::string& warning) {
        options.warnings.push_back(in_flags(warning));
        return options.warnings.back();
    });
    const StopFlag& stop = stop_on_signals();
    options.stop = &stop;
    std::unique_ptr<Movie> movie;
    if (!flags.movies.empty()) movie = open_joined_movie({flags.movies.begin(), flags.movies.end()}, flags.choice);
    options.movie = movie.get();
    if (is_folder) {
        print_report(
            flags, write_run_report(flags.out, flags.tables[0], options, console.warner(), if_exists(flags.overwrite)));
        return exit_ok;
    }
    options.tables = flags.tables;
    const bool has_channels = flags.tables.size() > 1;
    std::unique_ptr<LocalizationReader> reader;
    Localizations joined;
    std::optional<WholeTable> whole;
    if (has_channels) {
        joined = read_channels(flags, console, stop);
        whole.emplace(joined);
        for (const std::string& table : flags.tables)
            options.channels.push_back(std::filesystem::path(table).filename().string());
    } else {
        reader = open_table(flags.tables[0], pixel_size_nm(flags.pixel_size), flags.text, console, stop);
    }
    TablePieces& table = has_channels ? static_cast<TablePieces&>(*whole) : *reader;
    std::optional<Resolution> measured;
    // Neighbours in the next frame may be molecules of the other channel.
    if (!flags.no_resolution && !has_channels && table.like().pixel_size_nm > 0 && table.like().size() > 0) {
        constexpr std::string_view columns[] = {"x", "y", "lpx", "lpy", "n", "len"};
        ResolutionOptions of_resolution;
        of_resolution.stop = &stop;
        of_resolution.progress = console.progress("Fourier ring correlation", "tiles");
        try {
            measured = resolution(with_columns(table, columns), of_resolution);
        } catch (const InputError& error) {
            options.warnings.push_back(fmt::format("NeNA and FRC were not measured: {}", error.what()));
        } catch (const OptionError& error) {  // positions far from all others
            options.warnings.push_back(fmt::format("NeNA and FRC were not measured: {}", in_flags(error.what())));
        }
        console.end_progress();
        if (stop) return exit_interrupted;
    }
    if (measured) options.resolution = &*measured;
    print_report(flags, write_report(flags.out, table, options, if_exists(flags.overwrite)));
    return exit_ok;
}

}  // namespace

Command add_report(CLI::App& program) {
    const auto flags = std::make_shared<ReportFlags>();
    CLI::App* app = program.add_subcommand("report", "Writes an interactive report: one HTML file for any browser");
    offer_files(app->add_option("localizations", flags->tables,
                                "Localizations, or a movie's folder of `glint run`. Several tables are channels")
                    ->required(),
                table_endings());
    offer_files(app->add_option("-o,--output", flags->out, "Report to write: .html")->required(), {".html"});
    offer_files(app->add_option("--movie", flags->movies, "The movie, for raw frames; several files are one movie"),
                offered_movie_endings())
        ->allow_extra_args(false);
    app->add_option("--report-size", flags->options.size_mb,
                    "Limit of the localizations in the file, MB; above it, the page has a random sample")
        ->capture_default_str();
    app->add_option("--raw-frames", flags->options.raw_frames, "Maximum number of raw frames; 0: none")
        ->capture_default_str();
    app->add_option("--title", flags->options.title, "Title of the page (default: the name of the table or folder)");
    app->add_flag("--no-resolution", flags->no_resolution,
                  "Do not measure NeNA and FRC, which take longer than the rest");
    add_movie_flags(*app, flags->choice);
    add_pixel_size_flag(*app, flags->pixel_size);
    add_text_table_flags(*app, flags->text);
    add_overwrite_flag(*app, flags->overwrite);
    add_console_flags(*app, flags->console);
    app->footer(report_footer);
    return {app, [flags] { return run(*flags); }};
}

}  // namespace glint::cli
