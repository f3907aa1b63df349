// The flags for channel, z plane, position and camera of a movie.
// SPDX-License-Identifier: MIT
#include "cli/flags/movie_flags.hpp"

#include <fmt/format.h>

#include <cmath>

#include "cli/flags/choices.hpp"
#include "cli/spelling.hpp"
#include "data/provenance.hpp"
#include "glint/camera_presets.hpp"
#include "glint/error.hpp"

namespace glint::cli {

void add_movie_flags(CLI::App& app, MovieChoice& choice) {
    const auto whole = CLI::Range(std::int64_t(0), std::int64_t(1) << 40);
    app.add_option("--channel", choice.channel, "Channel to read, by number from 0 or by name, if the file has several")
        ->group("Movie");
    app.add_option("--z", choice.z, "Plane to read, from 0, if the file has several z planes")
        ->check(whole)
        ->group("Movie");
    app.add_option("--position", choice.position,
                   "Stage position to read, by number from 0 or by name, if the file has several")
        ->group("Movie");
}

void add_region_flag(CLI::App& app, std::string& region) {
    app.add_option("--region", region, "X,Y,W,H: use only this part of the frames, px, such as one half of a dual view")
        ->group("Movie");
}

std::string as_given(const MovieChoice& choice) {
    std::string text;
    if (choice.channel) text += fmt::format(" --channel {}", shell_word(*choice.channel));
    if (choice.z) text += fmt::format(" --z {}", *choice.z);
    if (choice.position) text += fmt::format(" --position {}", shell_word(*choice.position));
    return text;
}

namespace {

void add_numbers(CLI::App& app, CameraSetup& flags, const std::string& group) {
    app.add_option("--pixel-size", flags.pixel_size, "Edge of a camera pixel in the sample, with unit: 100nm, 0.1um")
        ->group(group);
    app.add_option("--offset", flags.offset, "Counts of a dark pixel (baseline), ADU")->group(group);
    app.add_option("--gain", flags.gain, "Photoelectrons per ADU, before EM gain (not its inverse, ADU per e-)")
        ->group(group);
    app.add_option("--readnoise", flags.readnoise, "Read noise, photoelectrons rms")->group(group);
    app.add_option("--em-gain", flags.em_gain, "EM gain, for an EMCCD: includes its excess noise")->group(group);
}

void add_file(CLI::App& app, CameraSetup& flags, const std::string& group) {
    offer_files(
        app.add_option(
               "--camera", flags.camera_file,
               "camera.toml with these values or maps of the sensor, maps in .hdf5 or .mat, or Picasso's config.yaml")
            ->group(group),
        camera_endings);
    CLI::Option* preset =
        app.add_option("--camera-preset", flags.preset,
                       "Use typical values of a common camera, as a start: see docs/reference/formats.md");
    std::vector<std::string> names;
    for (const CameraPreset& one : camera_presets()) names.push_back(one.name);
    offer_words(preset->group(group), names);
    offer_words(
        app.add_option("--gain-unit", flags.gain_unit, "Unit of --gain, and of a map without a unit: e-/ADU or ADU/e-")
            ->group(group),
        {"e-/ADU", "ADU/e-"});
    app.add_option("--camera-name", flags.camera_name, "Camera to use, if a config.yaml has several")->group(group);
    app.add_option("--camera-setting", flags.camera_settings,
                   "Settings of that camera, if its sensitivity depends on them: one flag each")
        ->group(group)
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    app.add_option("--sensor-roi", flags.sensor_roi,
                   "X,Y: position of the movie's first pixel on the sensor, px (with maps)")
        ->group(group);
}

}  // namespace

void add_camera_flags(CLI::App& app, CameraSetup& flags) {
    const std::string group = "Camera (these flags override --camera, which overrides the metadata of the movie)";
    add_numbers(app, flags, group), add_file(app, flags, group);
}

void add_known_camera_flags(CLI::App& app, CameraSetup& flags) {
    const std::string group = "Camera (values that are given are not estimated)";
    add_numbers(app, flags, group), add_file(app, flags, group);
}

void allow_auto(CLI::App& app) {
    const auto word = [](const std::string& text) -> std::string {
        if (text == "auto") return "nan";
        if (CLI::detail::to_lower(text).find("nan") != text.npos)
            throw CLI::ValidationError("give a number or auto, not " + text);
        return text;
    };
    for (const char* flag : {"--offset", "--gain", "--sigma"}) {
        CLI::Option* option = app.get_option(flag);
        option->description(option->get_description() + "; auto: estimated from the movie");
        if (flag != std::string("--sigma")) option->transform(word);
    }
}

InspectOptions inspect_options(const CameraSetup& flags, const MovieInfo& movie) {
    InspectOptions options;
    options.offset_adu = flags.offset, options.gain_e_per_adu = flags.gain;
    options.readnoise_e = flags.readnoise.value_or(0);
    if (const auto found = movie.contradictions.find("EM gain"); found != movie.contradictions.end() && !flags.em_gain)
        throw OptionError(
            fmt::format("{}: EM gain: {}: give the value for all files with --em-gain", movie.name, found->second));
    options.em_gain = flags.em_gain.value_or(movie.em_gain.value_or(1));
    return options;
}

void take_camera(const CameraFacts& facts, InspectOptions& options) {
    const Camera& camera = facts.camera;
    options.readnoise_e = rms_of(camera.readnoise_e), options.em_gain = camera.em_gain;
    if (facts.has_offset) options.offset_adu = median_of(camera.offset_adu);
    if (facts.has_gain) options.gain_e_per_adu = median_of(camera.gain_e_per_adu);
    if (facts.has_offset && facts.has_gain) options.camera = camera;
}

std::string as_given(const CameraSetup& flags) {
    std::string text;
    const auto add_text = [&](const char* flag, const std::string& value) {
        if (!value.empty()) text += fmt::format(" {} {}", flag, shell_word(value));
    };
    const auto add_number = [&](const char* flag, const std::optional<double>& value) {
        if (value) text += std::isnan(*value) ? fmt::format(" {} auto", flag) : fmt::format(" {} {}", flag, *value);
    };
    add_text("--pixel-size", flags.pixel_size);
    if (!flags.camera_file.empty()) text += " --camera " + shell_file(flags.camera_file);
    add_text("--camera-preset", flags.preset);
    add_number("--offset", flags.offset);
    add_number("--gain", flags.gain);
    add_number("--readnoise", flags.readnoise);
    add_number("--em-gain", flags.em_gain);
    add_text("--sensor-roi", flags.sensor_roi);
    add_text("--region", flags.region);
    add_text("--gain-unit", flags.gain_unit);
    add_text("--camera-name", flags.camera_name);
    for (const std::string& setting : flags.camera_settings) add_text("--camera-setting", setting);
    return text;
}

void add_pixel_size_flag(CLI::App& app, std::string& text) {
    app.add_option("--pixel-size", text,
                   "Edge of a camera pixel in the sample, with unit, if the file does not contain it");
}

}  // namespace glint::cli
