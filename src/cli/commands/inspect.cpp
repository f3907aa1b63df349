// `glint inspect`: describes a movie, and estimates its camera and spots.
// SPDX-License-Identifier: MIT
#include "glint/inspect.hpp"

#include <fmt/format.h>

#include <cmath>
#include <memory>

#include "cli/command.hpp"
#include "cli/commands/inspect_report.hpp"
#include "cli/commands/localize.hpp"
#include "cli/flags/choices.hpp"
#include "cli/flags/movie_flags.hpp"
#include "cli/flags/table_flags.hpp"
#include "cli/process.hpp"
#include "cli/spelling.hpp"
#include "data/camera_of_movie.hpp"
#include "glint/movie_io.hpp"
#include "glint/units.hpp"

namespace glint::cli {
namespace {

constexpr const char* inspect_footer = R"(
Examples:
  glint inspect movie.tif
  glint inspect movie.tif --pixel-size 100nm --offset 100
  glint inspect movie.tif --frames 1000:
  glint inspect movie.tif --camera camera.toml
  glint inspect emccd.tif --em-gain 300 --json

Estimates gain and offset from the noise of the movie: its variance at spatial frequencies that no
lens transmits, as a function of the mean count. Values that you give are not estimated, and make
the estimates of the other values more certain. Values in the metadata of the movie are shown and
compared; only the pixel size and the EM gain are used. If gain and offset are given, for example by
--camera, the noise of the movie is compared with them. Writes no file.)";

/// Returns the value of --sigma in pixels; 0 if it is not given.
double sigma_px(const InspectFlags& flags, double pixel_size_nm) {
    return flags.sigma.empty() ? 0 : to_px(parse_length(flags.sigma, "--sigma"), pixel_size_nm);
}

/// Returns the camera of --camera and the other flags. Offset and gain of the metadata are compared, not used.
CameraFacts facts_of(const CameraSetup& flags, MovieInfo movie) {
    movie.offset_adu.reset(), movie.gain_e_per_adu.reset();
    MissingOptions nothing_is_needed;
    return camera_facts(flags, movie, nothing_is_needed, false);
}

/// Returns whether a flag is given that only camera_facts() can convert to numbers, or refuse.
bool is_more_than_numbers(const CameraSetup& flags) {
    return !flags.camera_file.empty() || !flags.preset.empty() || !flags.sensor_roi.empty() ||
           !flags.gain_unit.empty() || !flags.camera_name.empty() || !flags.camera_settings.empty();
}

int run(const InspectFlags& flags) {
    stop_on_signals();
    std::unique_ptr<Movie> movie = open_movie(flags.movie, flags.choice);
    if (!flags.camera.region.empty()) movie = crop_movie(std::move(movie), parse_pixel_region(flags.camera.region));
    const MovieInfo& info = movie->info();
    Console console(flags.console);
    for (const std::string& warning : info.warnings) console.warn(warning);
    Inspected found;
    found.pixel_size_nm =
        flags.camera.pixel_size.empty() ? info.pixel_size_nm.value_or(0) : pixel_size_nm(flags.camera.pixel_size);
    found.options = inspect_options(flags.camera, info);
    if (is_more_than_numbers(flags.camera)) {
        const CameraFacts facts = facts_of(flags.camera, info);
        take_camera(facts, found.options);
        found.pixel_size_nm = facts.pixel_size_nm, found.sources = facts.sources;
        for (const std::string& warning : camera_warnings(facts.camera)) console.warn(warning);
    }
    if (const std::string other = pixel_size_contradiction(info, found.pixel_size_nm); !other.empty())
        console.warn(other);
    found.options.frames = parse_frame_range(flags.frames, info.frames);
    found.options.sigma_px = sigma_px(flags, found.pixel_size_nm);
    found.options.progress = console.progress(info.name, "frames");
    found.options.stop = &stop_on_signals();
    found.result = inspect(*movie, found.options);
    if (found.result.noise_check)
        found.mistake = in_flags(mistake_of(*movie, *estimated_camera(found.result, found.options),
                                            *found.result.noise_check, &stop_on_signals()));
    console.end_progress();
    for (const std::string& warning : metadata_warnings(info, found)) console.warn(warning);
    if (!found.result.contradiction.empty()) console.warn(info.name + ": " + found.result.contradiction);
    if (const auto n = found.result.defective_pixels; n > 0)
        console.warn(fmt::format(
            "{}: {} pixels are defective: they are brighter or darker than their neighbours in most frames, "
            "which no lens can cause. glint localize leaves them out",
            info.name, n));
    if (const double share = found.result.patterned_share; share > 0)
        console.warn(
            fmt::format("{}: {:.2g} % of the pixels differ from their neighbours in the same way in most frames, which "
                        "no lens can cause: measure the camera with `glint calibrate camera`",
                        info.name, 100 * share));
    if (!found.mistake.empty()) console.warn(fmt::format("{}: by its own noise, {}", info.name, found.mistake));
    if (flags.console.json)
        print_json(inspection_json(flags, info, found));
    else
        print_inspection(flags, info, found);
    return exit_ok;
}

}  // namespace

Command add_inspect(CLI::App& program) {
    const auto flags = std::make_shared<InspectFlags>();
    CLI::App* app = program.add_subcommand("inspect", "Estimates camera and spot parameters from a movie");
    offer_files(app->add_option("movie", flags->movie, "Movie")->required(), offered_movie_endings());
    add_movie_flags(*app, flags->choice);
    add_region_flag(*app, flags->camera.region);
    app->add_option("--sigma", flags->sigma, "Standard deviation of the PSF, with unit, if known: 130nm, 1.3px");
    app->add_option("--frames", flags->frames,
                    "BEGIN:END, frames from 0, END excluded, for example those without drift: 0:1000, 500:");
    add_known_camera_flags(*app, flags->camera);
    add_console_flags(*app, flags->console);
    app->footer(inspect_footer);
    return {app, [flags] { return run(*flags); }};
}

}  // namespace glint::cli
