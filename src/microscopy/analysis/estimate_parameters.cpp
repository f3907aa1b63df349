// Estimates camera and PSF values from the movie itself: `glint localize --gain auto`, or gain="auto" in Python.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <cmath>

#include "data/provenance.hpp"
#include "glint/error.hpp"
#include "glint/inspect.hpp"

namespace glint {
namespace {

/// Returns the estimate. Throws OptionError if there is none.
Estimate required(const std::optional<Estimate>& estimate, const std::string& name, const std::string& why_not,
                  const std::string& movie) {
    if (estimate) return *estimate;
    throw OptionError(fmt::format("{}: {}: cannot be estimated: {}; give a number", movie, name, why_not));
}

/// Throws OptionError for an estimate that is too uncertain. The estimate is a text such as "gain 0.97 +- 0.15 e-/ADU";
/// `limit` is such as "a tenth".
[[noreturn]] void refuse_uncertain(const std::string& movie, const std::string& name, const std::string& told,
                                   const std::string& limit, const std::string& from) {
    throw OptionError(
        fmt::format("{}: {}: the movie's {} is too uncertain to use (its error is above {}): give a number, {}", movie,
                    name, told, limit, from));
}

void note(std::string& notes, const std::string& text) {
    if (!notes.empty()) notes += ", ";
    notes += text;
}

}  // namespace

EstimatedParameters estimate_parameters(Movie& movie, const Camera& camera, const WantedParameters& wanted,
                                        const Progress& progress, const StopFlag* stop) {
    EstimatedParameters to;
    if (!wanted.any()) return to;
    const std::string& name = movie.info().name;
    if (movie.info().frames == unknown_frames)
        throw OptionError(
            fmt::format("{}: {}: the movie is still being written and cannot be inspected yet: give a number, such as "
                        "from an earlier movie of the same camera",
                        name, wanted.first()));
    InspectOptions options;
    if (wanted.offset.empty()) options.offset_adu = median_of(camera.offset_adu);
    if (wanted.gain.empty()) options.gain_e_per_adu = median_of(camera.gain_e_per_adu);
    options.readnoise_e = rms_of(camera.readnoise_e), options.em_gain = camera.em_gain;
    options.spots = !wanted.sigma.empty();
    options.progress = progress, options.stop = stop;
    const Inspection found = inspect(movie, options);
    const bool no_readnoise = options.readnoise_e == 0;
    if (!wanted.offset.empty()) {
        const Estimate one = required(found.noise.offset_adu, wanted.offset, found.noise.why_not, name);
        to.offset_adu = {std::round(100 * one.value) / 100, one.error};
        const std::string told = fmt::format("offset {:.2f} +- {:.2f} ADU", one.value, one.error);
        if (!is_sure_offset(one, found.noise.gain_e_per_adu->value))
            refuse_uncertain(name, wanted.offset, told, "10 ADU and 10 e-", "such as the counts of dark frames");
        if (movie.info().type != PixelType::float32 && is_below_zero(one))
            throw OptionError(fmt::format(
                "{}: {}: the movie's {} is below 0, which no camera has. Either there is read noise (give "
                "`readnoise`), or the movie was filtered or its background subtracted. Give a number, such as the "
                "counts of dark frames",
                name, wanted.offset, told));
        note(to.text, told + (no_readnoise ? " if the read noise is 0" : ""));
    }
    if (!wanted.gain.empty()) {
        const Estimate one = required(found.noise.gain_e_per_adu, wanted.gain, found.noise.why_not, name);
        to.gain_e_per_adu = {std::stod(fmt::format("{:.4g}", one.value)), one.error};
        const std::string but = found.contradiction.empty() ? "" : fmt::format(" ({})", found.contradiction);
        const std::string told = fmt::format("gain {:.3g} +- {:.2g} e-/ADU{}", one.value, one.error, but);
        if (!is_sure(one))
            refuse_uncertain(name, wanted.gain, told, "a tenth",
                             "such as from the camera's data sheet or `glint calibrate camera`");
        note(to.text, told + (no_readnoise && wanted.offset.empty() ? " if the read noise is 0" : ""));
    }
    if (!wanted.sigma.empty()) {
        const Estimate one = required(found.spots.sigma_px, wanted.sigma, found.spots.why_not, name);
        to.sigma_px = {std::round(1000 * one.value) / 1000, one.error};
        const std::string told = fmt::format("sigma {:.3f} +- {:.3f} px", one.value, one.error);
        if (!is_sure(one)) refuse_uncertain(name, wanted.sigma, told, "a tenth", "about 0.21 wavelength / NA");
        note(to.text, told);
    }
    return to;
}

}  // namespace glint
