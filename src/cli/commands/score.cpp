// `glint score`: compares localizations with the truth.
// SPDX-License-Identifier: MIT
#include "glint/score.hpp"

#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <string>

#include "analysis/score_figures.hpp"
#include "cli/command.hpp"
#include "cli/console.hpp"
#include "cli/flags/choices.hpp"
#include "cli/flags/movie_flags.hpp"
#include "cli/flags/table_flags.hpp"
#include "cli/print.hpp"
#include "cli/spelling.hpp"
#include "glint/error.hpp"
#include "glint/localization_io.hpp"
#include "glint/units.hpp"

namespace glint::cli {
namespace {

constexpr const char* score_footer = R"(
Examples:
  glint score locs.hdf5 movie_truth.csv
  glint score locs.hdf5 challenge_truth.csv --pixel-size 100nm --radius 250nm --axial-radius 500nm

TRUTH is a CSV file from `glint simulate`, any localization file, or a CSV file of id, frame (from
1), x, y, ... in nm from the outer edge of the first pixel. Localizations and true positions of a
frame are matched one to one within the radius: as many as possible, with the smallest sum of
distances.

Jaccard     matched / (truths + localizations - matched)
efficiency  of the SMLM challenge: 100 - sqrt((100 - Jaccard in %)^2 + (alpha RMSE)^2), with alpha
            1/nm laterally and 0.5/nm in z; in 3D also the mean of both. The challenge matched
            within 250 nm: --radius 250nm
RMSMD       root mean square distance to the nearest position of the other table, in both
            directions (and in each); in x, y and z if both tables have z. In frames: within each
            frame. In the map: between the distinct true positions and all localizations,
            regardless of the frame
std/CRLB    standard deviation of (error / stated precision)
MAD/CRLB    1.4826 times the median absolute deviation of the same. Both are 1 if the stated
            precisions are right; a few large errors raise the first only
neighbour   recall of the molecules by the distance to the nearest other molecule in the frame)";

struct ScoreFlags {
    std::string locs, truth, pixel_size, radius = "100nm", axial_radius;
    TextTableFlags text, truth_text;
    ConsoleFlags console;
};

nlohmann::ordered_json as_json(const Score& s) {  // NaN and infinity become null in JSON
    nlohmann::ordered_json json;
    put_figures(s, [&](const char* name, auto value) { json[name] = value; });
    for (const NeighborBin& bin : s.recall_by_neighbor)
        json["recall_by_neighbor"].push_back({{"from_px", bin.from_px},
                                              {"to_px", bin.to_px},
                                              {"truths", bin.truths},
                                              {"matched", bin.matched},
                                              {"recall", bin.recall()}});
    return json;
}

/// Returns the value, or a dash for NaN.
std::string text(double value, int digits) { return std::isnan(value) ? "-" : fmt::format("{:.{}f}", value, digits); }

/// Returns the values of the axes: "x 1.00, y 1.00".
std::string by_axis(const Score& s, int digits, double x, double y, double z) {
    const std::string lateral = fmt::format("x {}, y {}", text(x, digits), text(y, digits));
    return s.has_z ? fmt::format("{}, z {}", lateral, text(z, digits)) : lateral;
}

std::string efficiency_text(const Score& s) {
    const std::string within = s.has_z && s.axial_radius_nm > 0
                                   ? fmt::format("pairs within {:g} nm, {:g} nm in z", s.radius_nm, s.axial_radius_nm)
                                   : fmt::format("pairs within {:g} nm", s.radius_nm);
    const std::string lateral = text(s.efficiency_lateral, 1);
    if (!s.has_z) return fmt::format("{} % ({})", lateral, within);
    return fmt::format("lateral {}, axial {}, mean {} % ({})", lateral, text(s.efficiency_axial, 1),
                       text(s.efficiency_3d, 1), within);
}

void print_recall_by_neighbor(const Score& s) {
    const auto row = [&](const char* name, auto cell) {
        std::string line = fmt::format("{:<14}", name);
        for (const NeighborBin& bin : s.recall_by_neighbor) line += fmt::format("{:>10}", cell(bin));
        put("{}\n", line);
    };
    row("neighbour, px", [](const NeighborBin& bin) {
        return std::isinf(bin.to_px) ? fmt::format("{:g}+", bin.from_px)
                                     : fmt::format("{:g}-{:g}", bin.from_px, bin.to_px);
    });
    row("truths", [](const NeighborBin& bin) { return with_commas(std::int64_t(bin.truths)); });
    row("recall", [](const NeighborBin& bin) { return text(bin.recall(), 4); });
}

void print_table(const Score& s) {
    Summary()
        .add("truths", with_commas(std::int64_t(s.truths)))
        .add("localizations", with_commas(std::int64_t(s.localizations)))
        .add("matched", with_commas(std::int64_t(s.matched)))
        .add("recall", text(s.recall, 4))
        .add("precision", text(s.precision, 4))
        .add("jaccard", text(s.jaccard, 4))
        .add("rmse",
             fmt::format("{} nm ({})", text(s.rmse_nm, 1), by_axis(s, 1, s.rmse_x_nm, s.rmse_y_nm, s.rmse_z_nm)))
        .add("bias", by_axis(s, 1, s.bias_x_nm, s.bias_y_nm, s.bias_z_nm) + " nm")
        .add("efficiency", efficiency_text(s))
        .add("std/CRLB", by_axis(s, 3, s.std_over_crlb_x, s.std_over_crlb_y, s.std_over_crlb_z))
        .add("MAD/CRLB", by_axis(s, 3, s.mad_over_crlb_x, s.mad_over_crlb_y, s.mad_over_crlb_z))
        .add("rmsmd in frames", fmt::format("{} nm (truths {}, localizations {})", text(s.rmsmd_nm, 1),
                                            text(s.rmsmd_truths_nm, 1), text(s.rmsmd_localizations_nm, 1)))
        .add("rmsmd in the map", fmt::format("{} nm ({} emitters {}, localizations {})", text(s.rmsmd_map_nm, 1),
                                             with_commas(std::int64_t(s.emitters)), text(s.rmsmd_map_emitters_nm, 1),
                                             text(s.rmsmd_map_localizations_nm, 1)))
        .print();
    print_recall_by_neighbor(s);
}

/// Reads the truth. `pixel_size_nm` is for a truth in nm that does not contain its pixel size.
Localizations truth_columns(const std::string& file, double pixel_size_nm, const TextTableFlags& text,
                            Console& console) {
    const auto of_truth = [](const std::string& message) {  // the reader names flags without the prefix
        return spell(message, [](Option option, std::string_view value) {
            const bool is_of_both = option != Option::first_frame && option != Option::column;
            return is_of_both ? "" : "--truth-" + flag_of(option, value).substr(2);
        });
    };
    const Warn warn = console.warner();
    try {
        LocalizationReader truth(file, [&](const std::string& words) { warn(of_truth(words)); },
                                 {.pixel_size_nm = pixel_size_nm, .text = text_conventions(text, "truth-")});
        return with_columns(truth, columns_of_positions);
    } catch (const OptionError& error) {
        throw OptionError(of_truth(error.what()));
    } catch (const InputError& error) {
        throw InputError(of_truth(error.what()));
    }
}

int run(const ScoreFlags& flags) {
    Console console(flags.console);
    const StopFlag never{false};  // nothing is written, so a signal ends the program
    const Localizations locs =
        read_columns(flags.locs, pixel_size_nm(flags.pixel_size), flags.text, console, columns_of_positions, never);
    const Localizations truth = truth_columns(flags.truth, locs.pixel_size_nm, flags.truth_text, console);
    if (const std::string warning = order_warning(locs, truth); !warning.empty()) console.warn(warning);
    ScoreOptions options;
    options.localizations_name = flags.locs, options.truth_name = flags.truth;
    options.radius_nm = to_nm(parse_length(flags.radius, "--radius"), locs.pixel_size_nm);
    if (!flags.axial_radius.empty())
        options.axial_radius_nm = to_nm(parse_length(flags.axial_radius, "--axial-radius"), locs.pixel_size_nm);
    if (options.axial_radius_nm > 0 && (locs.z_nm.empty() || truth.z_nm.empty()))
        console.warn(
            fmt::format("--axial-radius has no effect: {} has no z", locs.z_nm.empty() ? flags.locs : flags.truth));
    const Score result = score(locs, truth, options);
    if (const std::string warning = frames_warning(locs, truth, options, result.recall); !warning.empty())
        console.warn(warning);
    if (flags.console.json)
        print_json(as_json(result));
    else
        print_table(result);
    return exit_ok;
}

}  // namespace

Command add_score(CLI::App& program) {
    const auto flags = std::make_shared<ScoreFlags>();
    CLI::App* app = program.add_subcommand("score", "Compares localizations with the truth");
    offer_files(app->add_option("localizations", flags->locs, "Localizations")->required(), table_endings());
    offer_files(app->add_option("truth", flags->truth, "Truth")->required(), table_endings());
    app->add_option("--radius", flags->radius, "Lateral matching radius, with unit; the SMLM challenge uses 250nm")
        ->capture_default_str();
    app->add_option("--axial-radius", flags->axial_radius, "Axial matching radius, with unit (default: no limit)");
    add_pixel_size_flag(*app, flags->pixel_size);
    add_text_table_flags(*app, flags->text);
    add_text_table_flags(*app, flags->truth_text, "truth-");
    add_console_flags(*app, flags->console);
    app->footer(score_footer);
    return {app, [flags] { return run(*flags); }};
}

}  // namespace glint::cli
