// `glint link`: joins the localizations of a blink to one row.
// SPDX-License-Identifier: MIT
#include "glint/link.hpp"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <memory>
#include <string>

#include "cli/command.hpp"
#include "cli/console.hpp"
#include "cli/flags/choices.hpp"
#include "cli/flags/movie_flags.hpp"
#include "cli/flags/output_flags.hpp"
#include "cli/flags/table_flags.hpp"
#include "cli/process.hpp"
#include "glint/error.hpp"
#include "glint/localization_io.hpp"
#include "glint/units.hpp"

namespace glint::cli {
namespace {

constexpr const char* link_footer = R"(
Examples:
  glint link locs.hdf5 -o linked.hdf5
  glint link locs.hdf5 -o linked.hdf5 --radius 4sigma --gap 2
  glint link locs.hdf5 -o tracks.hdf5 --unmerged

A molecule that is on for several frames gives one localization per frame. These are joined if they
are within the radius and at most GAP dark frames apart. The radius is in standard deviations of
their distance (4sigma) or in nm (30nm). `auto` chooses both values from the data. Its radius is the
distance at which a link is as likely wrong as right. Its gap grows while more of the links belong
to one blink than to chance. Without a precision of z (lpz), distances are in x and y. A radius in
nm is in x, y and z.

Each blink becomes one row: first frame, weighted position and its precision, sum of the photons,
`n` localizations, `len` frames from the first to the last, and `track`. With --unmerged all rows
are written, with their track.

A and B: the variance of positions within blinks is A + B CRLB. If the stated precisions are right,
A is 0 and B is 1. An A above 0 is a movement that the precisions do not include, such as vibration.
B is the factor that the stated variances lack. The precisions of merged rows include both.)";

struct LinkFlags {
    std::string table, out, pixel_size, radius = "auto", gap = "auto";
    bool unmerged = false, overwrite = false;
    TextTableFlags text;
    ConsoleFlags console;
};

void parse_radius(const std::string& text, double pixel_nm, LinkOptions& options) {
    constexpr std::string_view sigma = "sigma";
    if (text == "auto") return;
    if (text.size() > sigma.size() && text.ends_with(sigma)) {
        const std::string number = text.substr(0, text.size() - sigma.size());
        std::size_t used = 0;
        try {
            options.radius_sigma = std::stod(number, &used);
        } catch (const std::exception&) {
            used = 0;
        }
        if (used != number.size() || !(options.radius_sigma > 0) || !std::isfinite(options.radius_sigma))
            throw OptionError(fmt::format(
                "--radius {}: give auto, a number of standard deviations (4sigma) or a length (30nm)", text));
    } else {
        options.radius_nm = to_nm(parse_length(text, "--radius", "30nm, 4sigma or auto"), pixel_nm);
    }
}

void parse_gap(const std::string& text, LinkOptions& options) {
    if (text == "auto") return;
    const bool is_number =
        !text.empty() && text.size() < 7 && text.find_first_not_of("0123456789") == std::string::npos;
    if (!is_number) throw OptionError(fmt::format("--gap {}: give auto, or a number of dark frames, 0 or more", text));
    options.gap = std::stoi(text);
}

std::string value_text(double value, double error, const char* unit) {
    return std::isnan(value) ? "unknown" : fmt::format("{:.3g} +- {:.2g}{}", value, error, unit);
}
std::string variance_text(const InTrackVariance& v) {
    const std::string pairs = with_commas(std::int64_t(v.pairs)) + " pairs of localizations in consecutive frames";
    if (v.pairs == 0) return "unknown: too few blinks of two or more frames";
    if (std::isnan(v.b)) return fmt::format("unknown: no line A + B CRLB with B above 0 fits the {}", pairs);
    if (!v.is_known()) return fmt::format("unknown: B is not larger than its error, from {}", pairs);
    return fmt::format("A {}, B {}", value_text(v.a_nm2, v.a_error_nm2, " nm^2"), value_text(v.b, v.b_error, ""));
}
/// Returns "83.9", and "29,958" instead of "3e+04".
std::string without_exponent(double value, int digits) {
    constexpr double max_with_commas = 1e15;
    return value >= std::pow(10, digits) - 0.5 && value < max_with_commas ? with_commas(std::llround(value))
                                                                          : fmt::format("{:.{}g}", value, digits);
}
std::string radius_text(const Links& links) {
    const std::string nm = without_exponent(links.radius_nm, 3) + " nm";
    if (links.radius_sigma == 0) return nm;
    return fmt::format("{:.2f} sigma{}, {} at the median precision", links.radius_sigma,
                       links.is_radius_chosen ? " (from the data)" : "", nm);
}
std::string share_text(double number, double of) {
    if (std::isnan(number)) return "unknown: the movie is too short";
    return fmt::format("{} ({} %)", with_commas(std::llround(number)),
                       without_exponent(of > 0 ? 100 * number / of : 0, 2));
}

nlohmann::ordered_json variance_json(const InTrackVariance& v) {
    return {{"a_nm2", v.a_nm2}, {"a_error_nm2", v.a_error_nm2}, {"b", v.b}, {"b_error", v.b_error}, {"pairs", v.pairs}};
}

/// Names the axes of distances. Empty if these are all axes of the table.
std::string axes_text(const Links& links, const Localizations& like) {
    return like.z_nm.empty() || links.uses_z ? "" : "x and y only: the table has no precision of z (lpz)";
}

int run(const LinkFlags& flags) {
    check_localizations_output(flags.out, if_exists(flags.overwrite), files_of_table(flags.table));
    Console console(flags.console);
    const StopFlag& stop = stop_on_signals();
    const auto table = open_table(flags.table, pixel_size_nm(flags.pixel_size), flags.text, console, stop);
    if (const std::string warning = linked_warning(table->like()); !warning.empty())
        console.warn(fmt::format("{}: {}", flags.table, warning));
    LinkOptions options;
    parse_radius(flags.radius, table->like().pixel_size_nm, options);
    parse_gap(flags.gap, options);
    options.stop = &stop;
    options.progress = console.progress("linking", "frames");
    Links links;
    try {
        links = link(with_columns(*table, columns_of_positions), options);
    } catch (const Cancelled&) {
        console.end_progress();
        console.warn("stopped: nothing was written");
        return exit_interrupted;
    }
    console.end_progress();
    if (links.unlinkable > 0)
        console.warn(
            fmt::format("{}: {} rows are not linked: their position is not a number, or their precision is not above 0",
                        flags.table, with_commas(std::int64_t(links.unlinkable))));
    if (const std::string warning = chance_warning(links); !warning.empty())
        console.warn(fmt::format("{}: {}: give a --radius below {}{}{}", flags.table, warning,
                                 links.radius_sigma > 0 ? fmt::format("{:.2f}sigma", links.radius_sigma)
                                                        : fmt::format("{:g}nm", links.radius_nm),
                                 links.is_radius_chosen ? ", the value that auto chose from the data" : "",
                                 links.gap > 0 ? fmt::format(", or a --gap below {}", links.gap) : ""));
    const auto out = flags.unmerged ? pieces_with_tracks(*table, links) : merged_pieces(*table, links);
    const std::size_t hidden = write_localizations(flags.out, *out, console.warner(), if_exists(flags.overwrite));
    const std::size_t rows = links.track.size();
    const double mean_length = links.tracks ? double(rows) / double(links.tracks) : 0;
    if (flags.console.json) {
        print_json({{"output", flags.out},
                    {"localizations", rows},
                    {"tracks", links.tracks},
                    {"mean_localizations", mean_length},
                    {"radius_sigma", links.radius_sigma},
                    {"radius_nm", links.radius_nm},
                    {"gap", links.gap},
                    {"uses_z", links.uses_z},
                    {"links", links.links},
                    {"unlinkable", links.unlinkable},
                    {"false_links", links.false_links},
                    {"missed_links", links.missed_links},
                    {"lateral", variance_json(links.lateral)},
                    {"axial", variance_json(links.axial)},
                    {"hidden_rows", hidden}});
        return exit_ok;
    }
    Summary summary;
    summary.add("localizations", with_commas(std::int64_t(rows)))
        .add("tracks", fmt::format("{}, with {} localizations on average", with_commas(std::int64_t(links.tracks)),
                                   without_exponent(mean_length, 3)))
        .add("radius", radius_text(links))
        .add("gap", fmt::format("{} dark frames{}", links.gap, links.is_gap_chosen ? " (from the data)" : ""))
        .add("false links", share_text(links.false_links, double(links.links)))
        .add("missed links", links.radius_sigma > 0 ? share_text(links.missed_links, double(links.links))
                                                    : "not estimated for a radius in nm")
        .add("in-track variance",
             links.radius_sigma > 0 ? variance_text(links.lateral) : "not estimated for a radius in nm");
    if (const std::string axes = axes_text(links, table->like()); !axes.empty()) summary.add("distances", axes);
    if (links.axial.pairs > 0) summary.add("in-track variance, z", variance_text(links.axial));
    add_hidden_rows(summary, std::int64_t(hidden));
    summary.add("written", flags.out).print();
    return exit_ok;
}

}  // namespace

Command add_link(CLI::App& program) {
    const auto flags = std::make_shared<LinkFlags>();
    CLI::App* app = program.add_subcommand("link", "Joins the localizations of a blink to one row");
    offer_files(app->add_option("localizations", flags->table, "Table")->required(), table_endings());
    offer_files(app->add_option("-o,--output", flags->out, "Table to write: " + written_tables())->required(),
                table_endings());
    offer_words(app->add_option("--radius", flags->radius, "Maximum distance of a link: auto, 4sigma, 30nm"), {"auto"})
        ->capture_default_str();
    offer_words(app->add_option("--gap", flags->gap,
                                "Maximum number of consecutive dark frames within a blink: auto, or a number"),
                {"auto"})
        ->capture_default_str();
    app->add_flag("--unmerged", flags->unmerged, "Write all rows, with their track, instead of one row per blink");
    add_pixel_size_flag(*app, flags->pixel_size);
    add_text_table_flags(*app, flags->text);
    add_overwrite_flag(*app, flags->overwrite);
    add_console_flags(*app, flags->console);
    app->footer(link_footer);
    return {app, [flags] { return run(*flags); }};
}

}  // namespace glint::cli
