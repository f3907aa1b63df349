// What a summary of `glint localize` and of its preview says about spots, molecules and the PSF.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/commands/localize.hpp"
#include "cli/spelling.hpp"
#include "cli/stop.hpp"
#include "glint/inspect.hpp"
#include "pipeline/lone_spots.hpp"

namespace glint::cli {
namespace {

/// "4,862, one at each spot", or by how many they differ from the spots.
std::string molecules_text(const LocalizeResult& result) {
    std::string text = with_commas(result.molecules);
    if (result.spots == 0) return text;
    if (result.added == 0 && result.merged == 0) return text + ", one at each spot";
    return text + fmt::format(" ({} added beside those of spots, {} spots merged with others)",
                              with_commas(result.added), with_commas(result.merged));
}

nlohmann::ordered_json width_bounds_nm(const LoneSpots& lone) {
    if (lone.most_width_um <= 0) return {};
    return {lone.least_width_um * 1000, lone.most_width_um * 1000};
}

}  // namespace

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
            {"psf_misfit", number_if(options.emitters == any_emitters, result.lone.psf_misfit)},
            {"psf_scatter", number_if(options.emitters == any_emitters, result.lone.scatter)},
            {"psf_residual", result.lone.satellites},
            {"lone_spots", result.lone.count},
            {"crowd_molecules", result.lone.crowd_molecules},
            {"lone_spot_width_nm", number_if(result.lone.width_um > 0, result.lone.width_um * 1000)},
            {"width_bounds_nm", width_bounds_nm(result.lone)}};
}

std::string noise_check_text(double spread, double error, std::string_view where) {
    if (!(spread > 0)) return fmt::format("not measured{}: there are no empty regions", where);
    constexpr double no_measure = 10;  // beyond, the figure says nothing but that the camera's values are wrong
    if (spread > no_measure)
        return fmt::format("over {:g}{} (1 when the camera's values are right): see the warning", no_measure, where);
    const std::string text =
        error > 0 ? fmt::format("{:.3f} +- {:.3f}", spread, std::max(error, 0.0005)) : fmt::format("{:.2f}", spread);
    return fmt::format("{}{} (1 when the camera's values are right)", text, where);
}

std::string mistake_of(Movie& movie, const Camera& camera, const LocalizeResult& result) {
    return result.complete ? mistake_of(movie, camera, Estimate{result.noise_check, result.noise_check_error}) : "";
}

std::string mistake_of(Movie& movie, const Camera& camera, const Estimate& noise_check) {
    constexpr double small_part = 0.05, errors = 3;
    if (noise_check.value == 0 || !(std::abs(noise_check.value - 1) > small_part + errors * noise_check.error))
        return "";
    InspectOptions nothing_known;
    nothing_known.spots = false, nothing_known.stop = &stop_on_signals();
    return in_flags(likeliest_mistake(inspect(movie, nothing_known).noise, camera));
}

void add_counts(Summary& summary, const LocalizeResult& result, const LocalizeOptions& options) {
    const char* fate = options.keep_failed ? "kept" : "left out";
    if (!options.starting_values.empty()) summary.add("camera", options.starting_values);
    if (result.masked_pixels > 0)
        summary.add("masked pixels",
                    fmt::format("{} (hot, dead or noisy by the camera's maps)", with_commas(result.masked_pixels)));
    if (result.defective_pixels > 0)
        summary.add("defective pixels",
                    fmt::format("{} (found in the movie; left out)", with_commas(result.defective_pixels)));
    if (result.saturated_spots > 0)
        summary.add("saturated spots", fmt::format("{} (at {:g} ADU; those pixels are left out)",
                                                   with_commas(result.saturated_spots), result.saturation_adu));
    if (result.bad_pixels > 0)
        summary.add("missing pixels",
                    fmt::format("{} (not a number or infinite; left out)", with_commas(result.bad_pixels)));
    if (result.background.max_e > 0)
        summary.add("static background",
                    fmt::format("{} up to {:.3g} e- a pixel, by the mean of {} frames without what comes and goes",
                                result.background.is_known ? "known light:" : "not taken out:", result.background.max_e,
                                result.background.frames));
    summary.add("spots", with_commas(result.spots));
    summary.add("molecules fitted", molecules_text(result));
    summary.add("  not converged", fmt::format("{} ({})", with_commas(result.not_converged), fate));
    summary.add("  left their spot", fmt::format("{} ({})", with_commas(result.left_spot), fate));
    if (result.hits > 0) summary.add("  hits of a pixel", fmt::format("{} ({})", with_commas(result.hits), fate));
    if (options.emitters == 1)  // joint fits have none
        summary.add("  duplicates", fmt::format("{} ({})", with_commas(result.duplicates), fate));
    summary.add("localizations", with_commas(result.localizations));
    if (result.mostly_saturated > 0)
        summary.add("  mostly saturated", fmt::format("{} (column status is {})", with_commas(result.mostly_saturated),
                                                      int(FitStatus::saturated)));
    if (describe(options.psf.model).calibrated)
        summary.add("  z at bound", fmt::format("{} (column status is 2)", with_commas(result.at_bound)));
    if (result.lone.most_width_um > 0)
        summary.add("  width at bound", fmt::format("{} (column status is 2; where molecules overlap, widths stay near "
                                                    "those of lone spots, {:.0f} to {:.0f} nm)",
                                                    with_commas(result.at_bound), result.lone.least_width_um * 1000,
                                                    result.lone.most_width_um * 1000));
}

void add_lone_spots(Summary& summary, const LoneSpots& lone, const LocalizeOptions& options) {
    const std::string source =
        options.psf_misfit != learn_misfit ? "as given"
        : lone.crowd_molecules > 0         ? fmt::format("from {} molecules of crowded frames", lone.crowd_molecules)
        : lone.count == 0 ? fmt::format("usual: too few single molecules among {} lone spots", lone.found)
        : lone.count == lone.found
            ? fmt::format("from {} lone spots", lone.found)
            : fmt::format("from {} lone spots, of which {} have the width of single molecules", lone.found, lone.count);
    if (options.emitters == any_emitters) summary.add("PSF misfit", fmt::format("{} ({})", lone.psf_misfit, source));
    const auto most = std::max_element(lone.satellites.begin(), lone.satellites.end());
    if (*most > 0)
        summary.add("PSF residual", fmt::format("up to {:.0f} % of a molecule's photons, {:.1f} px from it",
                                                100 * *most, 0.5 * double(most - lone.satellites.begin())));
    if (const std::string advice = width_advice(lone, options.psf); !advice.empty())
        summary.add("PSF width", in_flags(advice));
}

}  // namespace glint::cli
