// Of a camera and a PSF, the values that a movie itself shall tell: `glint localize --gain auto`, in Python gain="auto".
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <cmath>

#include "data/provenance.hpp"
#include "glint/error.hpp"
#include "glint/inspect.hpp"

namespace glint {
namespace {

/// The estimate, or the error that there is none.
Estimate required(const std::optional<Estimate>& estimate, const std::string& name, const std::string& why_not,
                  const std::string& movie) {
    if (estimate) return *estimate;
    throw OptionError(fmt::format("{}: {}: cannot be estimated: {}; give a number", movie, name, why_not));
}

void note(std::string& notes, const std::string& text) {
    if (!notes.empty()) notes += ", ";
    notes += text;
}

}  // namespace

ToldValues tell_values(Movie& movie, const Camera& camera, const WantedValues& wanted, const Progress& progress,
                       const StopFlag* stop) {
    ToldValues to;
    if (!wanted.any()) return to;
    const std::string& name = movie.info().name;
    if (movie.info().frames == unknown_frames)
        throw OptionError(
            fmt::format("{}: {}: the movie is still being written, and tells nothing yet: give a number, as "
                        "inspecting an earlier movie of the same camera gives it",
                        name, wanted.first()));
    InspectOptions options;
    if (wanted.offset.empty()) options.offset_adu = median_of(camera.offset_adu);
    if (wanted.gain.empty()) options.gain_e_per_adu = median_of(camera.gain_e_per_adu);
    options.readnoise_e = rms_of(camera.readnoise_e), options.em_gain = camera.em_gain;
    options.spots = !wanted.sigma.empty();
    options.progress = progress, options.stop = stop;
    const Inspection found = inspect(movie, options);
    if (!wanted.offset.empty()) {
        const Estimate one = required(found.noise.offset_adu, wanted.offset, found.noise.why_not, name);
        to.offset_adu = {std::round(100 * one.value) / 100, one.error};
        note(to.text, fmt::format("offset {:.2f} +- {:.2f} ADU", one.value, one.error));
    }
    if (!wanted.gain.empty()) {
        const Estimate one = required(found.noise.gain_e_per_adu, wanted.gain, found.noise.why_not, name);
        to.gain_e_per_adu = {std::stod(fmt::format("{:.4g}", one.value)), one.error};
        note(to.text, fmt::format("gain {:.3g} +- {:.2g} e-/ADU", one.value, one.error));
    }
    if (!wanted.sigma.empty()) {
        const Estimate one = required(found.spots.sigma_px, wanted.sigma, found.spots.why_not, name);
        to.sigma_px = {std::round(1000 * one.value) / 1000, one.error};
        note(to.text, fmt::format("sigma {:.3f} +- {:.3f} px", one.value, one.error));
    }
    return to;
}

}  // namespace glint
