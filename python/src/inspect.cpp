// Bindings: estimates of a movie's camera and spots (glint/inspecting.py).
// SPDX-License-Identifier: MIT
#include "glint/inspect.hpp"

#include <nanobind/stl/optional.h>

#include <mutex>

#include "bindings.hpp"
#include "objects.hpp"
#include "running.hpp"
#include "text.hpp"

namespace glint::python {
namespace {

nb::object pair_of(const std::optional<Estimate>& estimate) {
    return estimate ? nb::object(nb::make_tuple(estimate->value, estimate->error)) : nb::none();
}

nb::dict dict_of(const Inspection& found) {
    const MovieCounts& counts = found.counts;
    const MovieNoise& noise = found.noise;
    const MovieSpots& spots = found.spots;
    nb::dict dict;
    dict["frames_read"] = counts.frames, dict["empty_frames"] = counts.empty_frames;
    dict["least_adu"] = counts.min_adu, dict["most_adu"] = counts.max_adu, dict["not_finite"] = counts.not_finite;
    dict["saturation_adu"] = counts.saturation_adu > 0 ? nb::object(nb::float_(counts.saturation_adu)) : nb::none();
    dict["saturated_share"] = counts.saturated_share, dict["why_no_saturation"] = in_python(counts.why_no_saturation);
    dict["defective_pixels"] = found.defective_pixels, dict["patterned_share"] = found.patterned_share;
    dict["background_adu"] = pair_of(counts.background_adu);
    const bool drifts = counts.background_drift.error > 0;
    dict["background_drift_adu"] = pair_of(drifts ? std::optional(counts.background_drift) : std::nullopt);
    dict["gain"] = pair_of(noise.gain_e_per_adu), dict["offset"] = pair_of(noise.offset_adu);
    dict["noise_mean_adu"] = noise.mean_adu, dict["noise_variance_adu2"] = noise.variance_adu2;
    dict["why_no_gain"] = in_python(noise.why_not);
    dict["sigma_px"] = pair_of(spots.sigma_px), dict["photons"] = pair_of(spots.photons);
    dict["spots_per_pixel"] = pair_of(spots.per_pixel);
    dict["spots"] = spots.found, dict["spot_frames"] = spots.frames, dict["lone_spots"] = spots.lone;
    dict["why_no_sigma"] = in_python(spots.why_not);
    dict["psf"] = std::string(to_name(spots.psf)), dict["why_psf"] = in_python(spots.why_psf);
    dict["noise_check"] = pair_of(found.noise_check), dict["contradiction"] = in_python(found.contradiction);
    return dict;
}

nb::dict inspect_movie(SharedMovie& shared, InspectOptions options, nb::handle progress) {
    Running running;
    options.progress = running.progress(progress), options.stop = running.stop();
    return dict_of(running.run([&] {
        const std::lock_guard lock(shared.mutex);
        return inspect(*shared.movie, options);
    }));
}

/// Returns (the values by name, their text). `offset`, `gain`, `sigma`: as WantedParameters.
nb::tuple estimate(SharedMovie& shared, const Camera& camera, const std::string& offset, const std::string& gain,
                   const std::string& sigma) {
    Running running;
    const EstimatedParameters told = running.run([&] {
        const std::lock_guard lock(shared.mutex);
        return estimate_parameters(*shared.movie, camera, {offset, gain, sigma}, {}, running.stop());
    });
    nb::dict values;
    if (told.offset_adu) values["offset"] = pair_of(told.offset_adu);
    if (told.gain_e_per_adu) values["gain"] = pair_of(told.gain_e_per_adu);
    if (told.sigma_px) values["sigma_px"] = pair_of(told.sigma_px);
    return nb::make_tuple(values, told.text);
}

}  // namespace

void bind_inspect(nb::module_& m) {
    nb::class_<InspectOptions>(m, "InspectOptions")
        .def(nb::init<>())
        .def_rw("offset_adu", &InspectOptions::offset_adu, nb::arg().none())
        .def_rw("gain_e_per_adu", &InspectOptions::gain_e_per_adu, nb::arg().none())
        .def_rw("readnoise_e", &InspectOptions::readnoise_e)
        .def_rw("em_gain", &InspectOptions::em_gain)
        .def_rw("camera", &InspectOptions::camera, nb::arg().none())
        .def_rw("sigma_px", &InspectOptions::sigma_px)
        .def_rw("frames", &InspectOptions::frames);
    m.def("estimate_parameters", &estimate, "movie"_a, "camera"_a, "offset"_a, "gain"_a, "sigma"_a);
    m.def("inspect", &inspect_movie, "movie"_a, "options"_a, "progress"_a.none());
}

}  // namespace glint::python
