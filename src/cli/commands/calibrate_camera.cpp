// `glint calibrate camera`: maps of offset, read noise and gain from dark movies and movies of constant light.
// SPDX-License-Identifier: MIT
#include "glint/calibrate_camera.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

#include "base/median.hpp"
#include "cli/commands/calibrate_camera.hpp"
#include "cli/console.hpp"
#include "cli/flags/camera_flags.hpp"
#include "cli/flags/choices.hpp"
#include "cli/flags/output_flags.hpp"
#include "cli/stop.hpp"
#include "glint/camera_io.hpp"
#include "glint/error.hpp"
#include "glint/movie_io.hpp"

namespace glint::cli {
namespace {

constexpr const char* footer = R"(
Examples:
  glint calibrate camera --dark dark.tif --light dim.tif medium.tif bright.tif -o camera.toml --pixel-size 100nm
  glint calibrate camera --dark dark.tif --gain 0.46 -o camera.toml
  glint localize movie.tif -o locs.hdf5 --sigma 130nm --camera camera.toml

Dark movies (lens cap on, exposure as in the experiment) give offset and read noise of each pixel. Each movie of --light is one
level of constant light; the slope of variance over mean is the inverse of the gain. Without --light the gain has to be
given, here or to localize. Writes CAMERA.toml and its maps, CAMERA_maps.hdf5, with the standard error of each.)";

struct Flags {
    std::vector<std::string> dark, light;
    std::string out, pixel_size;
    std::optional<double> gain;
    bool overwrite = false;
    ConsoleFlags console;
};

using Movies = std::vector<std::unique_ptr<Movie>>;

/// Of a relative error that falls as one over the root of the number of frames.
std::string frames_for_one_percent(double relative_error) {
    const double factor = std::pow(relative_error / 0.01, 2);
    return factor <= 1
               ? fmt::format("known to {:.2g} %", 100 * relative_error)
               : fmt::format("known to {:.2g} %; 1 % takes {:.3g} times as many frames", 100 * relative_error, factor);
}

void print_result(const CameraCalibration& c, const Flags& flags) {
    const double offset = median(c.offset_adu.value), variance = median(c.readvar_adu2.value);
    if (flags.console.json) {
        nlohmann::ordered_json levels = nlohmann::json::array();
        for (const LightLevel& level : c.levels)
            levels.push_back({{"movie", level.name},
                              {"frames", level.frames},
                              {"mean_adu", level.mean_adu},
                              {"variance_adu2", level.variance_adu2},
                              {"light_spread", level.light_spread}});
        return print_json({{"output", flags.out},
                           {"maps", maps_of_camera(flags.out).string()},
                           {"width", c.width},
                           {"height", c.height},
                           {"dark_frames", c.dark_frames},
                           {"median_offset_adu", offset},
                           {"median_readvar_adu2", variance},
                           {"gain_e_per_adu", c.sensor_gain},
                           {"gain_error", c.sensor_gain_error},
                           {"pixel_gain_error", c.pixel_gain_error},
                           {"gain_spread", c.gain_spread},
                           {"pixels_with_own_gain", c.own_gains},
                           {"chi2", c.mean_chi2},
                           {"hot_pixels", c.count(PixelFault::hot)},
                           {"dead_pixels", c.count(PixelFault::dead)},
                           {"noisy_pixels", c.count(PixelFault::noisy)},
                           {"expected_false_alarms", c.expected_false_alarms},
                           {"saturated", c.saturated},
                           {"warnings", calibration_warnings(c)},
                           {"levels", levels}});
    }
    Summary summary;
    summary.add("dark", fmt::format("{} frames of {}x{} px", with_commas(c.dark_frames), c.width, c.height))
        .add("offset", fmt::format("{:.2f} ADU (median)", offset));
    if (c.sensor_gain > 0)
        summary.add("read noise", fmt::format("{:.3f} e- rms (median)", std::sqrt(variance) * c.sensor_gain));
    else
        summary.add("read noise",
                    fmt::format("{:.3f} ADU rms (median); no gain: give --gain to localize", std::sqrt(variance)));
    for (const LightLevel& level : c.levels)
        summary.add("light",
                    fmt::format("{:.1f} ADU above the offset, {} frames, varies by {:.2g} % ({})", level.mean_adu,
                                with_commas(level.frames), 100 * level.light_spread, level.name));
    if (!c.levels.empty()) {
        summary.add("gain", fmt::format("{:.5f} +- {:.5f} e-/ADU, of the sensor", c.sensor_gain, c.sensor_gain_error))
            .add("", frames_for_one_percent(c.sensor_gain_error / c.sensor_gain))
            .add("a pixel's gain", frames_for_one_percent(c.pixel_gain_error))
            .add("spread of gains", fmt::format("{:.2g} %; {} pixels have a gain of their own, the others the sensor's",
                                                100 * c.gain_spread, with_commas(c.own_gains)));
        summary.add("reduced chi2", c.chi2.empty()
                                        ? "unknown: two levels of light and more tell whether the line fits"
                                        : fmt::format("{:.3f} of the line, mean of all pixels", c.mean_chi2));
    }
    summary.add("bad pixels", fmt::format("{} hot, {} dead, {} noisy; of good ones {:.2g} are expected among them",
                                          with_commas(c.count(PixelFault::hot)), with_commas(c.count(PixelFault::dead)),
                                          with_commas(c.count(PixelFault::noisy)), c.expected_false_alarms));
    if (c.saturated > 0)
        summary.add("saturated", fmt::format("{} pixels of a level, left out", with_commas(c.saturated)));
    summary.add("written", fmt::format("{}, {}", flags.out, maps_of_camera(flags.out).string())).print();
}

int run(const Flags& flags) {
    require_toml(flags.out);
    if (flags.gain && !flags.light.empty()) throw OptionError("--gain is what --light measures: give one of them");
    if (flags.gain && !(*flags.gain >= 1e-6 && *flags.gain <= 1e6))
        throw OptionError(
            fmt::format("--gain {}: it is in photoelectrons per ADU, 1e-6 to 1e6, as in --gain 0.5", *flags.gain));
    const double pixel_nm = pixel_size_nm(flags.pixel_size);
    const std::unique_ptr<Movie> dark = open_joined_movie({flags.dark.begin(), flags.dark.end()});
    Movies light;
    std::vector<Movie*> levels;
    Paths inputs = dark->info().files;
    Console console(flags.console);
    for (const std::string& warning : dark->info().warnings) console.warn(warning);
    for (const std::string& name : flags.light) {
        if (std::count(flags.light.begin(), flags.light.end(), name) > 1)
            throw OptionError(fmt::format("{} is given twice: each movie of --light is a level of its own", name));
        light.push_back(open_movie(name)), levels.push_back(light.back().get());
        const MovieInfo& info = light.back()->info();
        inputs.insert(inputs.end(), info.files.begin(), info.files.end());
        for (const std::string& warning : info.warnings) console.warn(warning);
    }
    const IfExists existing = if_exists(flags.overwrite);
    check_outputs({flags.out, maps_of_camera(flags.out)}, existing, inputs);
    CalibrateCameraOptions options;
    options.gain_e_per_adu = flags.gain.value_or(0);
    options.progress = console.progress("calibrating", "frames");
    options.stop = &stop_on_signals();
    CameraCalibration calibration;
    try {
        calibration = calibrate_camera(*dark, levels, options);
    } catch (const Cancelled&) {
        console.end_progress();
        console.warn("stopped: nothing was written");
        return exit_interrupted;
    }
    console.end_progress();
    const std::vector<std::string> warnings = calibration_warnings(calibration);
    for (const std::string& warning : warnings) console.warn(warning);
    write_camera(flags.out, calibration, pixel_nm, existing);
    print_result(calibration, flags);
    return exit_ok;
}

}  // namespace

Command add_calibrate_camera(CLI::App& group) {
    const auto flags = std::make_shared<Flags>();
    CLI::App* app = group.add_subcommand("camera", "Offset, read noise and gain of every pixel");
    offer_files(app->add_option("--dark", flags->dark, "Movies without light, one after another")->required(),
                movie_endings);
    offer_files(app->add_option("--light", flags->light, "Movies of constant light, a level each"), movie_endings);
    app->add_option("--gain", flags->gain, "Photoelectrons per ADU, where no light was measured");
    offer_files(app->add_option("-o,--output", flags->out, "Camera to write, .toml; its maps go beside it")->required(),
                toml_endings);
    add_pixel_size_flag(*app, flags->pixel_size);
    add_overwrite_flag(*app, flags->overwrite);
    add_console_flags(*app, flags->console);
    app->footer(footer);
    return {app, [flags] { return run(*flags); }};
}

}  // namespace glint::cli
