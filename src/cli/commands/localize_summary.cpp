// Lines on spots, molecules and the PSF, for the summaries of `glint localize` and its preview.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/commands/localize.hpp"
#include "cli/spelling.hpp"
#include "pipeline/lone_spots.hpp"

namespace glint::cli {
namespace {

/// Returns "4,862, one at each spot", or the differences between molecules and spots.
std::string molecules_text(const LocalizeResult& result) {
    std::string text = with_commas(result.molecules);
    if (result.spots == 0) return text;
    if (result.added == 0 && result.merged == 0) return text + ", one at each spot";
    return text + fmt::format(" ({} added beside spots, {} spots merged with others)", with_commas(result.added),
                              with_commas(result.merged));
}

}  // namespace

std::string noise_check_text(double spread, double error, std::string_view where) {
    if (!(spread > 0)) return fmt::format("not measured{}: there are no empty regions", where);
    constexpr double no_measure = 10;  // above, the value only shows that the camera's values are wrong
    if (spread > no_measure)
        return fmt::format("over {:g}{} (1 if the camera's values are right): see the warning", no_measure, where);
    const std::string text =
        error > 0 ? fmt::format("{:.3f} +- {:.3f}", spread, std::max(error, 0.0005)) : fmt::format("{:.2f}", spread);
    return fmt::format("{}{} (1 if the camera's values are right)", text, where);
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
                    fmt::format("{} up to {:.3g} e- per pixel, from the mean of {} frames without blinking molecules",
                                result.background.is_known ? "known light:" : "not subtracted:",
                                result.background.max_e, result.background.frames));
    summary.add("spots", with_commas(result.spots));
    summary.add("molecules fitted", molecules_text(result));
    summary.add("  not converged", fmt::format("{} ({})", with_commas(result.not_converged), fate));
    summary.add("  left their spot", fmt::format("{} ({})", with_commas(result.left_spot), fate));
    if (result.hits > 0) summary.add("  hits of a pixel", fmt::format("{} ({})", with_commas(result.hits), fate));
    if (options.fit.emitters == 1)  // joint fits have no duplicates
        summary.add("  duplicates", fmt::format("{} ({})", with_commas(result.duplicates), fate));
    summary.add("localizations", with_commas(result.localizations));
    if (result.mostly_saturated > 0)
        summary.add("  mostly saturated", fmt::format("{} (column status is {})", with_commas(result.mostly_saturated),
                                                      int(FitStatus::saturated)));
    if (describe(options.psf.model).has_z)
        summary.add("  z at bound", fmt::format("{} (column status is 2)", with_commas(result.at_bound)));
    if (result.lone.max_width_nm > 0)
        summary.add("  width at bound",
                    fmt::format("{} (column status is 2; widths of overlapping molecules stay near "
                                "those of lone spots, {:.0f} to {:.0f} nm)",
                                with_commas(result.at_bound), result.lone.min_width_nm, result.lone.max_width_nm));
}

void add_lone_spots(Summary& summary, const LoneSpots& lone, const LocalizeOptions& options) {
    const std::string source =
        options.fit.psf_misfit != learn_misfit ? "as given"
        : lone.crowd_molecules > 0 ? fmt::format("from {} molecules of crowded frames", lone.crowd_molecules)
        : lone.count == 0          ? fmt::format("default: too few single molecules among {} lone spots", lone.found)
        : lone.count == lone.found
            ? fmt::format("from {} lone spots", lone.found)
            : fmt::format("from {} lone spots, of which {} have the width of single molecules", lone.found, lone.count);
    if (options.fit.emitters == any_emitters)
        summary.add("PSF misfit", fmt::format("{} ({})", lone.psf_misfit, source));
    const auto most = std::max_element(lone.satellites.begin(), lone.satellites.end());
    if (*most > 0)
        summary.add("PSF residual", fmt::format("up to {:.0f} % of a molecule's photons, {:.1f} px from it",
                                                100 * *most, 0.5 * double(most - lone.satellites.begin())));
    if (const std::string advice = width_advice(lone, options.psf); !advice.empty())
        summary.add("PSF width", in_flags(advice));
}

}  // namespace glint::cli
