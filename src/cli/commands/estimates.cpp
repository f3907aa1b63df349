// Inspects a movie for the values that are wanted of it.
// SPDX-License-Identifier: MIT
#include "cli/commands/estimates.hpp"

#include <fmt/format.h>

#include <cmath>

#include "cli/stop.hpp"
#include "glint/error.hpp"
#include "glint/inspect.hpp"

namespace glint::cli {
namespace {

bool is_wanted(const std::optional<double>& value) { return value && std::isnan(*value); }
bool is_wanted(const std::string& sigma) { return sigma == word_auto; }

/// What the command line, --camera and metadata say; with placeholders for what is wanted.
Camera known_camera(const LocalizeFlags& flags, const MovieInfo& movie) {
    CameraFlags given = flags.camera;
    if (is_wanted(given.offset)) given.offset = 0;
    if (is_wanted(given.gain)) given.gain = 1;
    MissingOptions missing;  // what else is missing is told later
    return camera_facts(given, movie, missing, false).camera;
}

}  // namespace

void allow_auto(CLI::App& app) {
    const auto word = [](const std::string& text) -> std::string {
        if (text == word_auto) return "nan";
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

LocalizeFlags with_estimates(const LocalizeFlags& flags, Movie& movie, Console& console) {
    LocalizeFlags to = flags;
    WantedValues wanted;
    if (is_wanted(flags.camera.offset)) wanted.offset = "`offset=auto`";
    if (is_wanted(flags.camera.gain)) wanted.gain = "`gain=auto`";
    if (is_wanted(flags.psf.sigma)) wanted.sigma = "`sigma=auto`";
    if (!wanted.any()) return to;
    const MovieInfo& info = movie.info();
    const ToldValues told = tell_values(movie, known_camera(flags, info), wanted,
                                        console.progress(info.name + ": estimating", "frames"), &stop_on_signals());
    console.end_progress();
    to.options.estimated = told.text;
    if (told.offset_adu) to.camera.offset = told.offset_adu->value, to.camera.offset_source = "estimated";
    if (told.gain_e_per_adu) to.camera.gain = told.gain_e_per_adu->value, to.camera.gain_source = "estimated";
    if (told.sigma_px) to.psf.sigma = fmt::format("{:.3f}px", told.sigma_px->value);
    return to;
}

}  // namespace glint::cli
