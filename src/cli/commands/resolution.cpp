// `glint resolution`: estimates the precision of localizations and the resolution of their picture.
// SPDX-License-Identifier: MIT
#include "glint/resolution.hpp"

#include <fmt/format.h>

#include <algorithm>
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
#include "cli/spelling.hpp"
#include "glint/error.hpp"
#include "glint/localization_io.hpp"
#include "glint/localizations.hpp"
#include "glint/picture_io.hpp"
#include "glint/units.hpp"
#include "io/files/atomic_file.hpp"
#include "workflow/resolution_json.hpp"

namespace glint::cli {
namespace {

std::string text(const Measured& figure) {
    return std::isnan(figure.nm) ? "-" : fmt::format("{:.2f} +- {:.2f} nm", figure.nm, figure.error_nm);
}

void print_resolution(const Localizations& table, const Resolution& result) {
    const Nena& nena = result.nena;
    Summary summary;
    summary.add("localizations", with_commas(std::int64_t(table.size())))
        .add("NeNA", fmt::format("{} (rms {}; with one precision for all {})", text(nena.precision), text(nena.rms),
                                 text(nena.single)))
        .add("stated", std::isnan(nena.stated_nm) ? "-"
                                                  : fmt::format("{:.2f} nm, for the same {} pairs", nena.stated_nm,
                                                                with_commas(std::int64_t(nena.pairs))));
    for (const Nena& later : result.later)
        summary.add(fmt::format("NeNA, {} frames", later.lag), text(later.precision));
    summary.add("FRC", fmt::format("{} ({} splits of {} {})", text(result.frc.resolution), result.frc.splits,
                                   with_commas(std::int64_t(result.frc.units)),
                                   result.frc.link_radius_nm > 0 ? "blinks" : "blocks"));
    if (const auto place = precision_by_place(result))
        summary.add("by place", fmt::format("{:.2f}, {:.2f}, {:.2f} nm in {} of {} tiles of {:g} um, each +- {:.2f}",
                                            place->nm[0], place->nm[1], place->nm[2], place->tiles, place->all,
                                            result.precision_nm.pixel_size_nm / 1000, place->typical_error_nm));
    summary.print();
}

constexpr const char* resolution_footer = R"(
Examples:
  glint resolution locs.hdf5
  glint resolution locs.hdf5 -o curve.csv --map precision.tif --density density.tif --tile 2um
  glint resolution locs.hdf5 --split blocks --block-frames 1000 --json

Use a table in which blinks are not yet linked to one row each: NeNA compares a molecule with itself
in the next frame.

NeNA        the precision that the data show, from distances to the nearest neighbour in the next
            frame (Endesfelder et al. 2014): the median over localizations, whose precisions
            differ. Beside it: the fit of the paper, of one precision for all localizations
stated      the median of the precisions that the same rows state (lpx, lpy)
FRC         Fourier ring correlation between two halves of the data: the length at which it falls
            below 1/7 (Nieuwenhuizen et al. 2013). Localizations of one blink stay in one half
            (--split blinks), or blocks of frames do
by place    NeNA in tiles of the field: 10th, 50th and 90th percentile

Errors are standard errors (NeNA) and the standard deviation over ten splits (FRC). A warning names
each assumption that the data violate.)";

struct ResolutionFlags {
    std::string locs, curve, map, density, pixel_size, split = "blinks", link_radius, finest, tile = "5um";
    bool overwrite = false;
    ResolutionOptions options;
    TextTableFlags text;
    ConsoleFlags console;
};

double length_nm(const std::string& text, const char* flag, double pixel_size_nm) {
    return text.empty() ? 0 : to_nm(parse_length(text, flag), pixel_size_nm);
}

void set_options(ResolutionFlags& flags, double pixel_size_nm) {
    ResolutionOptions& options = flags.options;
    options.frc.split = flags.split == "blocks" ? FrcSplit::blocks : FrcSplit::blinks;
    options.frc.link_radius_nm = length_nm(flags.link_radius, "--link-radius", pixel_size_nm);
    options.frc.finest_nm = length_nm(flags.finest, "--finest", pixel_size_nm);
    options.tile_nm = length_nm(flags.tile, "--tile", pixel_size_nm);
}

Paths outputs_of(const ResolutionFlags& flags) {
    Paths paths;
    for (const std::string& file : {flags.curve, flags.map, flags.density})
        if (!file.empty()) paths.emplace_back(file);
    for (const std::string& file : {flags.map, flags.density})
        if (const std::string ending = lower_extension(file); !file.empty() && ending != ".tif" && ending != ".tiff")
            throw OptionError(fmt::format("{}: a map is written as .tif (32-bit float)", file));
    for (std::size_t k = 0; k < paths.size(); ++k)
        if (std::find(paths.begin() + std::ptrdiff_t(k) + 1, paths.end(), paths[k]) != paths.end())
            throw OptionError(
                fmt::format("{}: only one of -o, --map and --density can write this file", paths[k].string()));
    return paths;
}

void write_curve(const std::string& path, const Frc& frc, IfExists if_exists) {
    std::string text = "frequency_per_nm,frc,frc_smoothed\n";
    for (std::size_t k = 0; k < frc.correlation.size(); ++k)
        text += fmt::format("{:.8g},{:.6g},{:.6g}\n", frc.frequency_per_nm[k], frc.correlation[k], frc.smoothed[k]);
    AtomicFile file(path, if_exists);
    file.write(text);
    file.commit();
}

/// Throws OptionError for a flag of the other split.
void require_used(const ResolutionFlags& flags) {
    const FrcOptions& frc = flags.options.frc;
    const bool blocks = flags.split == "blocks";
    const char* unused = !blocks && frc.block_frames != FrcOptions().block_frames ? "--block-frames"
                         : blocks && !flags.link_radius.empty()                   ? "--link-radius"
                         : blocks && frc.dark_frames != FrcOptions().dark_frames  ? "--dark-frames"
                                                                                  : nullptr;
    if (unused)
        throw OptionError(fmt::format("{} changes nothing with --split {}: leave it out, or give --split {}", unused,
                                      flags.split, blocks ? "blinks" : "blocks"));
}

constexpr std::string_view columns_of_resolution[] = {"x", "y", "lpx", "lpy", "n", "len"};  // the last two: is_linked

int run(ResolutionFlags& flags) {
    require_used(flags);
    check_outputs(outputs_of(flags), if_exists(flags.overwrite), files_of_table(flags.locs));
    Console console(flags.console);
    const StopFlag& stop = stop_on_signals();
    const Localizations locs =
        read_columns(flags.locs, pixel_size_nm(flags.pixel_size), flags.text, console, columns_of_resolution, stop);
    set_options(flags, locs.pixel_size_nm);
    flags.options.stop = &stop;
    flags.options.progress = console.progress("Fourier ring correlation", "tiles");
    const Resolution result = resolution(locs, flags.options);
    console.end_progress();
    if (stop) return exit_interrupted;
    for (const std::string& caveat : result.caveats) console.warn(caveat);
    if (!flags.curve.empty()) write_curve(flags.curve, result.frc, if_exists(flags.overwrite));
    if (!flags.map.empty()) write_float_tiff(flags.map, result.precision_nm, if_exists(flags.overwrite));
    if (!flags.density.empty()) write_float_tiff(flags.density, result.density_per_um2, if_exists(flags.overwrite));
    if (flags.console.json)
        print_json(resolution_json(locs, result, in_flags));
    else
        print_resolution(locs, result);
    return exit_ok;
}

}  // namespace

Command add_resolution(CLI::App& program) {
    const auto flags = std::make_shared<ResolutionFlags>();
    FrcOptions& of_frc = flags->options.frc;
    CLI::App* app = program.add_subcommand("resolution", "Estimates precision (NeNA) and resolution (FRC)");
    offer_files(app->add_option("localizations", flags->locs, "Localizations")->required(), table_endings());
    offer_files(app->add_option("-o,--output", flags->curve, "Write the curve of the Fourier ring correlation, .csv"),
                {".csv"});
    offer_files(app->add_option("--map", flags->map,
                                "Write NeNA by tile, nm, as 32-bit float .tif; NaN if a tile has too few pairs"),
                {".tif", ".tiff"});
    offer_files(
        app->add_option("--density", flags->density, "Write localizations per um^2 by tile, as 32-bit float .tif"),
        {".tif", ".tiff"});
    app->add_option("--tile", flags->tile, "Edge of the tiles, with unit")->capture_default_str();
    app->add_option("--split", flags->split, "Units that stay in one half: blinks or blocks of frames")
        ->check(CLI::IsMember({"blinks", "blocks"}))
        ->capture_default_str();
    app->add_option(
        "--link-radius", flags->link_radius,
        "Maximum distance between localizations of one blink in consecutive frames (default: 5 times NeNA)");
    app->add_option("--dark-frames", of_frc.dark_frames, "Maximum number of dark frames within a blink")
        ->capture_default_str();
    app->add_option("--block-frames", of_frc.block_frames, "Frames per block")->capture_default_str();
    app->add_option("--finest", flags->finest,
                    "Smallest resolution that the curve reaches (default: 3 to 1.5 times NeNA, as needed)");
    app->add_option("--seed", of_frc.seed, "Seed of the random splits")->capture_default_str()->check(any_seed());
    add_pixel_size_flag(*app, flags->pixel_size);
    add_text_table_flags(*app, flags->text);
    add_overwrite_flag(*app, flags->overwrite);
    add_console_flags(*app, flags->console);
    app->footer(resolution_footer);
    return {app, [flags] { return run(*flags); }};
}

}  // namespace glint::cli
