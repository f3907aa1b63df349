// `glint filter`: keeps the localizations of a table that fulfil conditions.
// SPDX-License-Identifier: MIT
#include "glint/filter.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <vector>

#include "cli/command.hpp"
#include "cli/console.hpp"
#include "cli/flags/choices.hpp"
#include "cli/flags/movie_flags.hpp"
#include "cli/flags/output_flags.hpp"
#include "cli/flags/table_flags.hpp"
#include "cli/process.hpp"
#include "glint/localization_io.hpp"
#include "io/files/check_outputs.hpp"

namespace glint::cli {
namespace {

constexpr const char* filter_footer = R"help(
Examples:
  glint filter locs.hdf5 -o good.hdf5 --where "photons > 500 and lpx_nm < 20 and frame >= 100"
  glint filter locs.hdf5 -o good.hdf5 --where "sx within 10% of mode" \
      --where "photons > percentile(photons, 5)"
  glint filter locs.hdf5 -o dense.hdf5 --where "neighbors(50nm) >= 5"
  glint filter locs.hdf5 -o part.hdf5 --where "10 < x_um < 20 and not (5 < y_um < 8)"

A condition can name any column of the table. Lengths can have a unit: lpx is in px as in the file,
lpx_nm in nm. Available are + - * / **, abs sqrt log min max, < <= > >= == !=, and, or, not,
percentile(), mode and neighbors(). docs/reference/filter.md describes the whole language.

Be careful with a limit on p_value. The PSF of a real movie is never exactly that of the model, so
p_value is tiny for most bright molecules, and the limit may remove all rows.)help";

struct FilterFlags {
    std::string locs, out, pixel_size;
    std::vector<std::string> conditions;
    bool overwrite = false;
    TextTableFlags text;
    ConsoleFlags console;
};

std::string shortened(const std::string& text) {
    constexpr std::size_t longest = 40;
    if (text.size() <= longest) return text;
    std::size_t end = longest - 3;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;  // not inside a UTF-8 character
    return text.substr(0, end) + "...";
}

void print_counts(const FilterFlags& flags, const FilteredTable& filtered, std::size_t hidden) {
    const std::size_t rows = filtered.rows_before();
    Summary summary;
    summary.add("localizations", with_commas(std::int64_t(rows)));
    std::size_t before = rows;
    for (const FilterClause& clause : filtered.clauses()) {
        const std::size_t alone = rows - clause.fulfilled, in_turn = before - clause.left;
        summary.add(shortened(clause.text),
                    fmt::format("drops {} ({} not dropped above)", with_commas(std::int64_t(alone)),
                                with_commas(std::int64_t(in_turn))));
        before = clause.left;
    }
    const std::size_t left = filtered.rows();
    summary.add("left", fmt::format("{} ({:.1f} %)", with_commas(std::int64_t(left)),
                                    rows > 0 ? 100.0 * double(left) / double(rows) : 0.0));
    add_hidden_rows(summary, std::int64_t(hidden));
    summary.add("written", flags.out).print();
}

void print_as_json(const FilterFlags& flags, const FilteredTable& filtered, std::size_t hidden) {
    nlohmann::ordered_json clauses = nlohmann::ordered_json::array();
    for (const FilterClause& clause : filtered.clauses())
        clauses.push_back({{"condition", clause.text}, {"fulfilled", clause.fulfilled}, {"left", clause.left}});
    print_json({{"output", flags.out},
                {"localizations_before", filtered.rows_before()},
                {"localizations", filtered.rows()},
                {"clauses", clauses},
                {"hidden_rows", hidden}});
}

int run(const FilterFlags& flags) {
    check_conditions(flags.conditions);
    check_localizations_output(flags.out, if_exists(flags.overwrite), files_of_table(flags.locs));
    Console console(flags.console);
    const StopFlag& stop = stop_on_signals();
    const auto locs = open_table(flags.locs, pixel_size_nm(flags.pixel_size), flags.text, console, stop);
    FilteredTable filtered(*locs, flags.conditions, &stop);
    const std::size_t hidden = write_localizations(flags.out, filtered, console.warner(), if_exists(flags.overwrite));
    if (filtered.rows() == 0 && filtered.rows_before() > 0)
        console.warn(fmt::format("{}: no row fulfils the conditions: the table is empty", flags.out));
    if (flags.console.json)
        print_as_json(flags, filtered, hidden);
    else
        print_counts(flags, filtered, hidden);
    return exit_ok;
}

}  // namespace

Command add_filter(CLI::App& program) {
    const auto flags = std::make_shared<FilterFlags>();
    CLI::App* app = program.add_subcommand("filter", "Keeps the localizations that fulfil conditions");
    offer_files(app->add_option("localizations", flags->locs, "Localizations")->required(), table_endings());
    offer_files(app->add_option("-o,--output", flags->out, "Table to write: " + written_tables())->required(),
                table_endings());
    app->add_option(
           "--where", flags->conditions,
           "A condition that rows must fulfil: \"photons > 500 and lpx_nm < 20\". If repeated, rows must fulfil all")
        ->required()
        ->allow_extra_args(false);
    add_pixel_size_flag(*app, flags->pixel_size);
    add_text_table_flags(*app, flags->text);
    add_overwrite_flag(*app, flags->overwrite);
    add_console_flags(*app, flags->console);
    app->footer(filter_footer);
    return {app, [flags] { return run(*flags); }};
}

}  // namespace glint::cli
