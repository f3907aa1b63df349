// `glint convert`: converts tables of localizations to another format, and joins several tables.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "cli/command.hpp"
#include "cli/console.hpp"
#include "cli/flags/choices.hpp"
#include "cli/flags/movie_flags.hpp"
#include "cli/flags/output_flags.hpp"
#include "cli/flags/table_flags.hpp"
#include "cli/process.hpp"
#include "glint/error.hpp"
#include "glint/localization_io.hpp"
#include "glint/merge.hpp"
#include "io/files/check_outputs.hpp"

namespace glint::cli {
namespace {

constexpr const char* convert_footer = R"(
Examples:
  glint convert locs.hdf5 -o locs.csv
  glint convert thunderstorm.csv -o locs.hdf5 --pixel-size 100nm
  glint convert part1.hdf5 part2.hdf5 -o all.hdf5
  glint convert day1.hdf5 day2.hdf5 -o both.hdf5 --consecutive

The content of a file decides the format in which it is read. The name of the output decides the
format in which it is written.
Written: {written}.
Read: {readable}.
Values that the output format has no column for are left out (docs/reference/formats.md). From
several tables, the columns that all of them contain are written.)";

struct ConvertFlags {
    std::vector<std::string> tables;
    std::string out, pixel_size;
    bool consecutive = false, overwrite = false;
    TextTableFlags text;
    ConsoleFlags console;
};

int run(const ConvertFlags& flags) {
    Paths inputs;
    for (const std::string& table : flags.tables)
        for (std::filesystem::path& file : files_of_table(table)) inputs.push_back(std::move(file));
    check_localizations_output(flags.out, if_exists(flags.overwrite), inputs);
    if (flags.consecutive && flags.tables.size() < 2)
        throw OptionError("--consecutive needs at least two tables, from movies that follow one another");
    Console console(flags.console);
    const double given_nm = pixel_size_nm(flags.pixel_size);
    const StopFlag& stop = stop_on_signals();
    std::vector<std::unique_ptr<LocalizationReader>> readers;
    for (const std::string& table : flags.tables)
        readers.push_back(
            open_table(table, given_nm, flags.text, console, stop, default_piece_bytes / flags.tables.size()));
    std::optional<MergedTable> merged;
    if (readers.size() > 1) {
        std::vector<TablePieces*> tables;
        for (const auto& reader : readers) tables.push_back(reader.get());
        merged.emplace(tables, flags.consecutive ? FramesOfMerged::consecutive : FramesOfMerged::as_they_are,
                       console.warner());
    }
    TablePieces& all = merged ? static_cast<TablePieces&>(*merged) : *readers.front();
    const std::size_t hidden = write_localizations(flags.out, all, console.warner(), if_exists(flags.overwrite));
    const std::size_t rows = merged ? merged->rows() : readers.front()->rows();
    if (flags.console.json) {
        print_json({{"output", flags.out},
                    {"tables", flags.tables},
                    {"localizations", rows},
                    {"frames", all.like().frames},
                    {"hidden_rows", hidden}});
        return exit_ok;
    }
    Summary summary;
    if (flags.tables.size() > 1) summary.add("tables", with_commas(std::int64_t(flags.tables.size())));
    summary.add("localizations", with_commas(std::int64_t(rows)));
    add_hidden_rows(summary, std::int64_t(hidden));
    summary.add("written", flags.out).print();
    return exit_ok;
}

}  // namespace

Command add_convert(CLI::App& program) {
    const auto flags = std::make_shared<ConvertFlags>();
    CLI::App* app = program.add_subcommand("convert", "Converts tables to another format, or joins several tables");
    offer_files(app->add_option("localizations", flags->tables, "Tables, at least one")->required(), table_endings());
    offer_files(app->add_option("-o,--output", flags->out, "Table to write: " + written_tables())->required(),
                table_endings());
    app->add_flag("--consecutive", flags->consecutive,
                  "The movies follow one another: number the frames of each table after those of the previous table");
    add_pixel_size_flag(*app, flags->pixel_size);
    add_text_table_flags(*app, flags->text);
    add_overwrite_flag(*app, flags->overwrite);
    add_console_flags(*app, flags->console);
    app->footer(with_table_names(convert_footer));
    return {app, [flags] { return run(*flags); }};
}

}  // namespace glint::cli
