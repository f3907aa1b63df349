// `glint calibrate camera`: maps of offset, read noise and gain, from dark movies and movies of constant light or
// ramps.
// SPDX-License-Identifier: MIT
#include "glint/calibrate_camera.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "cli/commands/calibrate_camera.hpp"
#include "cli/console.hpp"
#include "cli/flags/choices.hpp"
#include "cli/flags/movie_flags.hpp"
#include "cli/flags/output_flags.hpp"
#include "cli/flags/table_flags.hpp"
#include "cli/plotting.hpp"
#include "cli/process.hpp"
#include "cli/spelling.hpp"
#include "data/camera_of_movie.hpp"
#include "glint/camera_io.hpp"
#include "glint/error.hpp"
#include "glint/movie_io.hpp"

namespace glint::cli {
namespace {

constexpr const char* calibrate_camera_footer = R"(
Examples:
  glint calibrate camera --dark dark.tif --light dim.tif bright.tif -o camera.toml
  glint calibrate camera --dark dark.tif --ramp ramp.tif -o camera.toml --pixel-size 100nm \
      --plot camera.png
  glint calibrate camera --dark dark.tif --gain 0.46 -o camera.toml
  glint calibrate camera --dark dark.tif --light dim.tif bright.tif --em-gain 300 -o emccd.toml
  glint localize movie.tif -o locs.hdf5 --sigma 130nm --camera camera.toml

Dark movies give the offset and read noise of each pixel. Record them with the lens cap on and the
exposure time of the experiment.

The gain comes from light. Each movie of --light is one level of constant light. Each movie of
--ramp has light that rises or falls slowly. The slope of variance over mean is the inverse of the
gain. Without light, give --gain here or to localize.

For an EMCCD, give --em-gain unless the metadata of the movies contain it. Without an EM gain, the
estimated gain is the true gain divided by twice the EM gain.

Writes CAMERA.toml and its maps, CAMERA_maps.hdf5, with the standard error of each map. --plot draws
the maps, the bad pixels and variance over mean.)";

struct Flags {
    std::vector<std::string> dark, light, ramp;
    std::string out, plot, pixel_size;
    std::optional<double> gain, em_gain;
    bool overwrite = false;
    ConsoleFlags console;
};

struct Inputs {
    std::unique_ptr<Movie> dark;
    std::vector<std::unique_ptr<Movie>> light, ramps;
    Paths files;
};

Inputs open_inputs(const Flags& flags, Console& console) {
    Inputs inputs;
    inputs.dark = open_joined_movie({flags.dark.begin(), flags.dark.end()});
    const auto note = [&](const Movie& movie) {
        const MovieInfo& info = movie.info();
        inputs.files.insert(inputs.files.end(), info.files.begin(), info.files.end());
        for (const std::string& warning : info.warnings) console.warn(warning);
    };
    note(*inputs.dark);
    std::vector<std::string> seen;
    for (const auto& [names, movies] : {std::pair(&flags.light, &inputs.light), {&flags.ramp, &inputs.ramps}})
        for (const std::string& name : *names) {
            if (std::count(seen.begin(), seen.end(), name) > 0)
                throw OptionError(fmt::format("{} is given twice: give each movie of --light and --ramp once", name));
            seen.push_back(name);
            movies->push_back(open_movie(name));
            note(*movies->back());
        }
    return inputs;
}

std::vector<Movie*> open_ones(const std::vector<std::unique_ptr<Movie>>& movies) {
    std::vector<Movie*> all;
    for (const auto& movie : movies) all.push_back(movie.get());
    return all;
}

void check_flags(const Flags& flags) {
    require_toml(flags.out);
    if (flags.gain && !(flags.light.empty() && flags.ramp.empty()))
        throw OptionError("--gain cannot be combined with --light or --ramp, which measure it: leave one out");
    if (flags.gain && !(*flags.gain >= 1e-6 && *flags.gain <= 1e6))
        throw OptionError(
            fmt::format("--gain {}: it is in photoelectrons per ADU, 1e-6 to 1e6, as in --gain 0.5", *flags.gain));
    if (flags.em_gain && !(*flags.em_gain >= 1 && *flags.em_gain <= 1e5))
        throw OptionError(
            fmt::format("--em-gain {}: give the EM gain that the camera's software shows, 1 to 1e5", *flags.em_gain));
    check_plot(flags.plot);
}

int run(const Flags& flags) {
    const StopFlag& stop = stop_on_signals();  // from here on, also while movies are opened
    check_flags(flags);
    CalibrationFiles files{flags.out, "", pixel_size_nm(flags.pixel_size), false, {}};
    Console console(flags.console);
    const Inputs inputs = open_inputs(flags, console);
    if (const auto& nm = inputs.dark->info().pixel_size_nm; nm && files.pixel_nm <= 0)
        files.pixel_nm = *nm, files.pixel_of_metadata = true;
    std::vector<Movie*> movies{inputs.dark.get()};
    for (const auto* more : {&inputs.light, &inputs.ramps})
        for (Movie* movie : open_ones(*more)) movies.push_back(movie);
    for (const Movie* movie : movies)
        if (const std::string text = pixel_size_contradiction(movie->info(), files.pixel_nm); !text.empty())
            console.warn(text);
    const IfExists existing = if_exists(flags.overwrite);
    Paths outputs{flags.out, maps_of_camera(flags.out)};
    if (!flags.plot.empty()) outputs.push_back(flags.plot);
    check_outputs(outputs, existing, inputs.files);
    CalibrateCameraOptions options;
    options.gain_e_per_adu = flags.gain.value_or(0);
    options.em_gain = flags.em_gain.value_or(0);
    options.progress = console.progress("calibrating", "frames");
    options.stop = &stop;
    options.ramps = open_ones(inputs.ramps);
    CameraCalibration calibration;
    try {
        calibration = calibrate_camera(*inputs.dark, open_ones(inputs.light), options);
    } catch (const Cancelled&) {
        console.end_progress();
        console.warn("stopped: nothing was written");
        return exit_interrupted;
    }
    console.end_progress();
    for (const std::string& warning : calibration_warnings(calibration)) {
        files.warnings.push_back(in_flags(warning));
        console.warn(warning);
    }
    write_camera(flags.out, calibration, files.pixel_nm, existing);
    if (!flags.plot.empty())
        files.plot = draw_plot(calibration_figure(calibration), flags.plot, existing, "The calibration", console,
                               &files.warnings);
    print_calibration(calibration, files, flags.console.json);
    return exit_ok;
}

}  // namespace

Command add_calibrate_camera(CLI::App& group) {
    const auto flags = std::make_shared<Flags>();
    CLI::App* app = group.add_subcommand("camera", "Measures offset, read noise and gain of every pixel");
    offer_files(app->add_option("--dark", flags->dark, "Movies without light, in the order of recording")->required(),
                offered_movie_endings());
    offer_files(app->add_option("--light", flags->light, "Movies of constant light, one level per movie"),
                offered_movie_endings());
    offer_files(app->add_option("--ramp", flags->ramp, "Movies of light that rises or falls slowly"),
                offered_movie_endings());
    app->add_option("--gain", flags->gain, "Photoelectrons per ADU, if no light was measured");
    app->add_option("--em-gain", flags->em_gain,
                    "EM gain of all movies, for an EMCCD: its excess noise doubles the variance");
    offer_files(app->add_option("-o,--output", flags->out, "Camera to write, .toml; its maps are written beside it")
                    ->required(),
                toml_endings);
    offer_files(
        app->add_option("--plot", flags->plot, "Also draw the maps and the photon transfer curve: .png or .svg"),
        plots::figure_endings);
    add_pixel_size_flag(*app, flags->pixel_size);
    add_overwrite_flag(*app, flags->overwrite);
    add_console_flags(*app, flags->console);
    app->footer(calibrate_camera_footer);
    return {app, [flags] { return run(*flags); }};
}

}  // namespace glint::cli
