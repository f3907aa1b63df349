// Inspects a movie for the values that are wanted of it.
// SPDX-License-Identifier: MIT
#include "cli/commands/estimates.hpp"

#include <fmt/format.h>

#include <cmath>

#include "cli/stop.hpp"
#include "data/provenance.hpp"
#include "glint/error.hpp"
#include "glint/inspect.hpp"
#include "glint/units.hpp"

namespace glint::cli {
namespace {

bool is_wanted(const std::optional<double>& value) { return value && std::isnan(*value); }
bool is_wanted(const std::string& sigma) { return sigma == word_auto; }

/// The root mean square, which is what a mean variance is made of.
double rms(const SensorField& field) {
    if (!field.is_map()) return field.scalar;
    double sum = 0;
    for (const float value : field.map) sum += double(value) * value;
    return std::sqrt(sum / double(field.map.size()));
}

/// What command line, --camera and metadata say.
InspectOptions known_values(const LocalizeFlags& flags, const MovieInfo& movie) {
    CameraFlags given = flags.camera;
    if (is_wanted(given.offset)) given.offset = 0;
    if (is_wanted(given.gain)) given.gain = 1;
    MissingOptions missing;  // what else is missing is told later
    const CameraFacts facts = camera_facts(given, movie, missing, false);
    InspectOptions known;
    if (facts.has_offset && !is_wanted(flags.camera.offset)) known.offset_adu = median_of(facts.camera.offset_adu);
    if (facts.has_gain && !is_wanted(flags.camera.gain)) known.gain_e_per_adu = median_of(facts.camera.gain_e_per_adu);
    known.readnoise_e = rms(facts.camera.readnoise_e), known.em_gain = facts.camera.em_gain;
    if (!flags.psf.sigma.empty() && !is_wanted(flags.psf.sigma) && facts.pixel_size_nm > 0)
        known.sigma_px = to_px(parse_length(flags.psf.sigma, "--sigma"), facts.pixel_size_nm);
    known.spots = is_wanted(flags.psf.sigma);
    return known;
}

/// The estimate, or the error that there is none.
Estimate required(const std::optional<Estimate>& estimate, const char* flag, const std::string& why_not,
                  const std::string& movie) {
    if (estimate) return *estimate;
    throw OptionError(fmt::format("{}: {} auto: cannot be estimated: {}; give a number", movie, flag, why_not));
}

void note(std::string& notes, const std::string& text) {
    if (!notes.empty()) notes += ", ";
    notes += text;
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
    const bool offset = is_wanted(flags.camera.offset), gain = is_wanted(flags.camera.gain);
    const bool sigma = is_wanted(flags.psf.sigma);
    if (!offset && !gain && !sigma) return to;
    const std::string& name = movie.info().name;
    InspectOptions options = known_values(flags, movie.info());
    options.progress = console.progress(name + ": estimating", "frames");
    options.stop = &stop_on_signals();
    const Inspection found = inspect(movie, options);
    console.end_progress();
    std::string& notes = to.options.estimated;
    if (offset) {
        const Estimate one = required(found.noise.offset_adu, "--offset", found.noise.why_not, name);
        to.camera.offset = std::round(100 * one.value) / 100, to.camera.offset_source = "estimated";
        note(notes, fmt::format("offset {:.2f} +- {:.2f} ADU", one.value, one.error));
    }
    if (gain) {
        const Estimate one = required(found.noise.gain_e_per_adu, "--gain", found.noise.why_not, name);
        to.camera.gain = std::strtod(fmt::format("{:.4g}", one.value).c_str(), nullptr);
        to.camera.gain_source = "estimated";
        note(notes, fmt::format("gain {:.3g} +- {:.2g} e-/ADU", one.value, one.error));
    }
    if (sigma) {
        const Estimate one = required(found.spots.sigma_px, "--sigma", found.spots.why_not, name);
        to.psf.sigma = fmt::format("{:.3f}px", one.value);
        note(notes, fmt::format("sigma {:.3f} +- {:.3f} px", one.value, one.error));
    }
    return to;
}

}  // namespace glint::cli
