// `glint score`: compares localizations with the truth.
// SPDX-License-Identifier: MIT
#include "glint/score.hpp"

#include <fmt/format.h>

#include <memory>

#include "cli/command.hpp"
#include "cli/console.hpp"
#include "cli/flags/camera_flags.hpp"
#include "glint/error.hpp"
#include "glint/localization_io.hpp"
#include "glint/units.hpp"

namespace glint::cli {
namespace {

constexpr const char* help_footer = R"(
Examples:
  glint score locs.hdf5 movie_truth.csv
  glint score locs.hdf5 challenge_truth.csv --pixel-size 100nm --radius 250nm --axial-radius 500nm --json

TRUTH: a CSV that `glint simulate` wrote; a CSV of id, frame (from 1), x, y, ... in nm from the outer edge of the first
pixel; or any localization file. Localizations and truths of a frame are matched one to one, so that the sum of
distances is least, within the radius. Jaccard: matched / (truths + localizations - matched). RMSMD: root mean
square distance to the nearest of the other table, both ways. std/CRLB: 1 when the stated precisions are honest.)";

struct ScoreFlags {
    std::string locs, truth, pixel_size, radius = "100nm", axial_radius;
    ConsoleFlags console;
};

nlohmann::ordered_json as_json(const Score& s) {
    nlohmann::ordered_json json{{"truths", s.truths},
                                {"localizations", s.localizations},
                                {"matched", s.matched},
                                {"recall", s.recall},
                                {"precision", s.precision},
                                {"jaccard", s.jaccard},
                                {"rmse_nm", s.rmse_nm},
                                {"rmse_x_nm", s.rmse_x_nm},
                                {"rmse_y_nm", s.rmse_y_nm},
                                {"bias_x_nm", s.bias_x_nm},
                                {"bias_y_nm", s.bias_y_nm},
                                {"rmsmd_nm", s.rmsmd_nm},
                                {"std_over_crlb_x", s.std_over_crlb_x},
                                {"std_over_crlb_y", s.std_over_crlb_y}};
    if (s.has_z) {
        json["rmse_z_nm"] = s.rmse_z_nm;
        json["bias_z_nm"] = s.bias_z_nm;
        json["std_over_crlb_z"] = s.std_over_crlb_z;
    }
    return json;
}

void print_table(const Score& s) {
    const auto z = [&](const char* format, double value) {
        return s.has_z ? fmt::format(fmt::runtime(format), value) : "";
    };
    Summary()
        .add("truths", with_commas(std::int64_t(s.truths)))
        .add("localizations", with_commas(std::int64_t(s.localizations)))
        .add("matched", with_commas(std::int64_t(s.matched)))
        .add("recall", fmt::format("{:.4f}", s.recall))
        .add("precision", fmt::format("{:.4f}", s.precision))
        .add("jaccard", fmt::format("{:.4f}", s.jaccard))
        .add("rmse", fmt::format("{:.1f} nm (x {:.1f}, y {:.1f}{})", s.rmse_nm, s.rmse_x_nm, s.rmse_y_nm,
                                 z(", z {:.1f}", s.rmse_z_nm)))
        .add("bias", fmt::format("x {:.1f}, y {:.1f}{} nm", s.bias_x_nm, s.bias_y_nm, z(", z {:.1f}", s.bias_z_nm)))
        .add("rmsmd", fmt::format("{:.1f} nm", s.rmsmd_nm))
        .add("std/CRLB", fmt::format("x {:.3f}, y {:.3f}{}", s.std_over_crlb_x, s.std_over_crlb_y,
                                     z(", z {:.3f}", s.std_over_crlb_z)))
        .print();
}

int run(const ScoreFlags& flags) {
    Console console(flags.console);
    const double given_nm = pixel_size_nm(flags.pixel_size);
    Localizations locs = read_localizations(flags.locs, console.warner(), given_nm);
    if (given_nm > 0) locs.pixel_size_nm = given_nm;
    const Localizations truth = read_truth(flags.truth, locs.pixel_size_nm, console.warner());
    ScoreOptions options;
    options.radius_nm = to_nm(parse_length(flags.radius, "--radius"), locs.pixel_size_nm);
    if (!flags.axial_radius.empty())
        options.axial_radius_nm = to_nm(parse_length(flags.axial_radius, "--axial-radius"), locs.pixel_size_nm);
    const Score result = score(locs, truth, options);
    if (flags.console.json)
        print_json(as_json(result));
    else
        print_table(result);
    return exit_ok;
}

}  // namespace

Command add_score(CLI::App& program) {
    const auto flags = std::make_shared<ScoreFlags>();
    CLI::App* app = program.add_subcommand("score", "Localizations against truth: recall, precision, Jaccard, errors");
    app->add_option("localizations", flags->locs, "Localizations")->required();
    app->add_option("truth", flags->truth, "Truth")->required();
    app->add_option("--radius", flags->radius, "Lateral matching radius, with unit")->capture_default_str();
    app->add_option("--axial-radius", flags->axial_radius, "Axial matching radius, with unit (default: no limit)");
    app->add_option("--pixel-size", flags->pixel_size,
                    "Edge of a camera pixel, with unit, where the file does not say");
    add_console_flags(*app, flags->console);
    app->footer(help_footer);
    return {app, [flags] { return run(*flags); }};
}

}  // namespace glint::cli
