// Completes the settings with which a movie is localized.
// SPDX-License-Identifier: MIT
#include "workflow/localize_setup.hpp"

#include <fmt/format.h>

#include <cmath>

#include "glint/error.hpp"
#include "glint/estimate_psf.hpp"
#include "glint/inspect.hpp"
#include "glint/localization_io.hpp"
#include "glint/movie_io.hpp"
#include "glint/units.hpp"
#include "io/files/check_outputs.hpp"

namespace glint {
namespace {

namespace fs = std::filesystem;

bool is_wanted(const std::optional<double>& value) { return value && std::isnan(*value); }
bool is_wanted(const std::string& sigma) { return sigma == word_auto; }

/// Returns the camera known without the movie's pixels, with placeholders for values to estimate from them.
Camera known_camera(const CameraSetup& camera, const MovieInfo& movie) {
    CameraSetup given = camera;
    if (is_wanted(given.offset)) given.offset = 0;
    if (is_wanted(given.gain)) given.gain = 1;
    MissingOptions missing;  // other missing values are reported later
    return camera_facts(given, movie, missing, false).camera;
}

nlohmann::ordered_json width_bounds_nm(const LoneSpots& lone) {
    if (lone.max_width_nm <= 0) return {};
    return {lone.min_width_nm, lone.max_width_nm};
}

/// Estimates the PSF from the movie. Does nothing if the pixel size is unknown, which is reported later.
void add_estimated_psf(Movie& movie, LocalizeSetup& to, const RunMessages& messages, const StopFlag* stop) {
    const MovieInfo& info = movie.info();
    MissingOptions missing;
    const CameraFacts facts = camera_facts(to.camera, info, missing, true);
    if (missing.any()) return;
    EstimatePsfOptions options;
    options.pixel_size_nm = facts.pixel_size_nm;
    if (!to.psf.sigma.empty() && !is_wanted(to.psf.sigma))
        options.sigma_nm = to_nm(parse_length(to.psf.sigma, "`sigma`"), facts.pixel_size_nm);
    if (info.frames != unknown_frames) options.frames = parse_frame_range(to.frames, info.frames);
    options.stop = stop;
    if (messages.progress) options.progress = messages.progress(info.name + ": estimating the PSF", "steps");
    const EstimatedPsf found = estimate_psf(movie, facts.camera, options);
    if (messages.end_progress) messages.end_progress();
    for (const std::string& warning : found.warnings)
        if (messages.warn) messages.warn(warning);
    to.psf.estimated = found.table;
    to.options.estimated += fmt::format("{}PSF from {} lone spots ({:.0f} % of the others have p > 0.01)",
                                        to.options.estimated.empty() ? "" : ", ", found.used, 100 * found.psf.good_p);
}

}  // namespace

void require_used(const LocalizeOptions& options) {
    const LocalizeOptions usual;
    if (options.fit.emitters == 1 && options.fit.psf_misfit != learn_misfit)
        throw OptionError("`psf_misfit` changes nothing with `emitters=1`: leave one of them out");
    if (options.fit.emitters != 1 && options.neighbor_rounds != usual.neighbor_rounds)
        throw OptionError("`neighbor_rounds` changes nothing with `emitters=auto`: leave one of them out");
}

CameraFacts complete_facts(const LocalizeSetup& setup, const MovieInfo& movie, MissingOptions& missing,
                           bool pixel_size_needed) {
    note_missing(setup.psf, missing);
    return camera_facts(setup.camera, movie, missing, pixel_size_needed, &setup.psf);
}

std::string advice_on(const MissingOptions& missing, const std::string& movie) {
    std::string words;
    for (const char* what : {"offset", "gain", "sigma"})
        if (missing.has(what)) words += fmt::format("{}`{}=auto`", words.empty() ? "" : " ", what);
    if (words.empty()) return "";
    return fmt::format(
        "\n  (not known? `glint inspect {}` estimates them from the movie itself; {} uses its estimates)", movie,
        words);
}

LocalizeSetup with_estimates(const LocalizeSetup& setup, Movie& movie, const RunMessages& messages,
                             const StopFlag* stop) {
    LocalizeSetup to = setup;
    WantedParameters wanted;
    if (is_wanted(setup.camera.offset)) wanted.offset = "`offset=auto`";
    if (is_wanted(setup.camera.gain)) wanted.gain = "`gain=auto`";
    const bool needs_psf = setup.psf.model == word_auto;
    if (is_wanted(setup.psf.sigma) && !needs_psf) wanted.sigma = "`sigma=auto`";
    if (!wanted.any() && !needs_psf) return to;
    const MovieInfo& info = movie.info();
    const EstimatedParameters told = estimate_parameters(
        movie, known_camera(setup.camera, info), wanted,
        messages.progress ? messages.progress(info.name + ": estimating", "frames") : Progress(), stop);
    if (messages.end_progress) messages.end_progress();
    to.options.estimated = told.text;
    if (told.offset_adu) to.camera.offset = told.offset_adu->value, to.camera.offset_source = "estimated";
    if (told.gain_e_per_adu) to.camera.gain = told.gain_e_per_adu->value, to.camera.gain_source = "estimated";
    if (told.sigma_px) to.psf.sigma = fmt::format("{:.3f}px", told.sigma_px->value);
    if (needs_psf) add_estimated_psf(movie, to, messages, stop);
    return to;
}

OpenedTask completed(std::unique_ptr<Movie> movie, const LocalizeSetup& setup, CameraFacts facts,
                     const std::vector<fs::path>& outputs) {
    Paths inputs = facts.files;  // `localize` checks the movie's own files
    for (const std::filesystem::path& file : files_of(setup.psf)) inputs.push_back(file);
    for (const fs::path& out : outputs) check_localizations_output(out, IfExists::replace, inputs);
    OpenedTask opened{std::move(movie), std::move(facts), setup.options};
    LocalizeOptions& options = opened.options;
    options.pixel_size_nm = opened.facts.pixel_size_nm, options.starting_values = opened.facts.starting_values;
    options.psf = psf_of(setup.psf, options.pixel_size_nm);
    options.psf_file = find_file_name(setup.psf);
    if (options.roi_size == 0) options.roi_size = default_roi_size(options.psf, options.pixel_size_nm);
    const MovieInfo& info = opened.movie->info();
    if (info.frames != unknown_frames) options.frames = parse_frame_range(setup.frames, info.frames);
    return opened;
}

nlohmann::ordered_json counts_json(const LocalizeResult& result, const LocalizeOptions& options) {
    const auto number_if = [](bool known, double value) {
        return known ? nlohmann::ordered_json(value) : nlohmann::ordered_json();
    };
    return {{"localizations", result.localizations},
            {"spots", result.spots},
            {"added", result.added},
            {"merged", result.merged},
            {"molecules", result.molecules},
            {"not_converged", result.not_converged},
            {"left_spot", result.left_spot},
            {"duplicates", result.duplicates},
            {"at_bound", result.at_bound},
            {"bad_pixels", result.bad_pixels},
            {"zero_border_frames", result.zero_border_frames},
            {"masked_pixels", result.masked_pixels},
            {"defective_pixels", result.defective_pixels},
            {"hits", result.hits},
            {"saturation_adu", number_if(result.saturation_adu > 0, result.saturation_adu)},
            {"saturated_spots", result.saturated_spots},
            {"mostly_saturated", result.mostly_saturated},
            {"static_background_e", result.background.max_e},
            {"static_background_changed", result.background.share_changed},
            {"false_spots", result.background.share_false},
            {"noise_check", number_if(result.noise_check > 0, result.noise_check)},
            {"noise_check_error", number_if(result.noise_check_error > 0, result.noise_check_error)},
            {"psf_misfit", number_if(options.fit.emitters == any_emitters, result.lone.psf_misfit)},
            {"psf_scatter", number_if(options.fit.emitters == any_emitters, result.lone.scatter)},
            {"psf_residual", result.lone.satellites},
            {"lone_spots", result.lone.count},
            {"crowd_molecules", result.lone.crowd_molecules},
            {"lone_spot_width_nm", number_if(result.lone.width_nm > 0, result.lone.width_nm)},
            {"width_bounds_nm", width_bounds_nm(result.lone)}};
}

std::string mistake_of(Movie& movie, const Camera& camera, const LocalizeResult& result, const StopFlag* stop) {
    return result.complete ? mistake_of(movie, camera, Estimate{result.noise_check, result.noise_check_error}, stop)
                           : "";
}

std::string mistake_of(Movie& movie, const Camera& camera, const Estimate& noise_check, const StopFlag* stop) {
    constexpr double small_part = 0.05, errors = 3;
    if (noise_check.value == 0 || !(std::abs(noise_check.value - 1) > small_part + errors * noise_check.error))
        return "";
    InspectOptions nothing_known;
    nothing_known.spots = false, nothing_known.stop = stop;
    return find_wrong_camera_value(inspect(movie, nothing_known).noise, camera);
}

}  // namespace glint
