// Statistics of a table: histograms of photons and precisions, counts by frame, NeNA and FRC.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/median.hpp"
#include "glint/error.hpp"
#include "glint/resolution.hpp"
#include "workflow/resolution_json.hpp"
#include "workflow/step.hpp"

namespace glint {
namespace {

using Json = RunRecord::Json;

constexpr std::string_view columns_of_figures[] = {"x", "y", "lpx", "lpy", "photons", "bg"};

/// Bins of equal width from 0 to slightly beyond the 99th percentile; larger values are left out.
std::string histogram_text(std::vector<float> values, const char* name) {
    constexpr std::size_t bins = 80;
    std::string text = fmt::format("{},localizations\n", name);
    std::erase_if(values, [](float value) { return !std::isfinite(value) || value < 0; });
    if (values.empty()) return text;
    const auto high = values.begin() + std::ptrdiff_t(double(values.size() - 1) * 0.99);
    std::nth_element(values.begin(), high, values.end());
    const double width = std::max(double(*high) * 1.1, 1e-6) / double(bins);
    std::vector<std::size_t> counts(bins);
    for (const float value : values)
        if (const double bin = value / width; bin < double(bins)) ++counts[std::size_t(bin)];
    for (std::size_t k = 0; k < bins; ++k) text += fmt::format("{:.6g},{}\n", (double(k) + 0.5) * width, counts[k]);
    return text;
}

/// Counts localizations per frame, for blocks of frames: at most 500 rows.
std::string counts_text(const Localizations& table) {
    constexpr std::int64_t max_rows = 500;
    const std::int64_t last = *std::max_element(table.frame.begin(), table.frame.end());
    const std::int64_t frames = std::max<std::int64_t>(table.frames, last + 1),
                       block = (frames + max_rows - 1) / max_rows;
    std::vector<std::int64_t> counts(std::size_t((frames + block - 1) / block));
    for (const std::uint32_t frame : table.frame) ++counts[std::size_t(frame / block)];
    std::string text = "frame,localizations_per_frame\n";
    for (std::size_t k = 0; k < counts.size(); ++k) {
        const std::int64_t first = std::int64_t(k) * block, length = std::min(block, frames - first);
        text += fmt::format("{:.6g},{:.6g}\n", double(first) + 0.5 * double(length - 1),
                            double(counts[k]) / double(length));
    }
    return text;
}

/// Returns the precision along x and y together, in nm.
std::vector<float> lateral_precision_nm(const Localizations& table) {
    std::vector<float> values;
    for (std::size_t k = 0; k < table.lpx_px.size(); ++k)
        values.push_back(float(std::sqrt(0.5 * (std::pow(table.lpx_px[k], 2) + std::pow(table.lpy_px[k], 2))) *
                               table.pixel_size_nm));
    return values;
}

Json median_json(std::vector<float> values) {
    std::erase_if(values, [](float value) { return !std::isfinite(value); });
    return values.empty() ? Json(nullptr) : Json(median(std::move(values)));
}

std::string nena_text(const Nena& nena) {
    std::string text = "distance_nm,pairs,fit\n";
    for (std::size_t k = 0; k < nena.distance_nm.size(); ++k)
        text += fmt::format("{:.6g},{:.6g},{:.6g}\n", nena.distance_nm[k], nena.counts[k],
                            k < nena.fit.size() ? nena.fit[k] : std::nan(""));
    return text;
}

std::string frc_text(const Frc& frc) {
    std::string text = "frequency_per_nm,frc,frc_smoothed\n";
    for (std::size_t k = 0; k < frc.correlation.size(); ++k)
        text += fmt::format("{:.8g},{:.6g},{:.6g}\n", frc.frequency_per_nm[k], frc.correlation[k], frc.smoothed[k]);
    return text;
}

}  // namespace

std::string measure(const StepContext& context, const StepTable& from) {
    std::vector<std::string> files = {"figures/photons.csv", "figures/precision.csv", "figures/counts.csv"};
    const bool resolved = context.recipe.resolution;
    for (const char* file : {"figures/nena.csv", "figures/frc.csv", "resolution.json"})
        if (resolved) files.emplace_back(file);
    return do_step(context, "resolution", section_text(context.recipe, "resolution") + from.key, files, [&] {
        const Localizations table = with_columns(*open_step_table(context, from), columns_of_figures);
        const std::vector<float> precision_nm = lateral_precision_nm(table);
        write_step_text(context, "figures/photons.csv", histogram_text(table.photons, "photons"));
        write_step_text(context, "figures/precision.csv", histogram_text(precision_nm, "precision_nm"));
        write_step_text(context, "figures/counts.csv", counts_text(table));
        Json results{{"rows", table.size()},
                     {"median_photons", median_json(table.photons)},
                     {"median_background", median_json(table.bg)},
                     {"median_precision_nm", median_json(precision_nm)}};
        if (!resolved) return results;
        ResolutionOptions options;
        options.stop = &context.stop;
        options.progress = context.progress("Fourier ring correlation", "tiles");
        const Resolution found = resolution(table, options);
        context.end_progress();
        if (context.stop.load()) throw Cancelled("stopped while the resolution was measured");
        for (const std::string& caveat : found.caveats) context.warn(context.name + ": " + caveat);
        write_step_text(context, "figures/nena.csv", nena_text(found.nena));
        write_step_text(context, "figures/frc.csv", frc_text(found.frc));
        const Json json = resolution_json(table, found, context.options.words);
        write_step_text(context, "resolution.json", json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
        const auto number = [](double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); };
        results["nena_nm"] = number(found.nena.precision.nm),
        results["nena_error_nm"] = number(found.nena.precision.error_nm);
        if (found.nena.contradicts_stated()) results["nena_of_stated"] = found.nena.precision.nm / found.nena.stated_nm;
        results["frc_nm"] = number(found.frc.resolution.nm),
        results["frc_error_nm"] = number(found.frc.resolution.error_nm);
        return results;
    });
}

}  // namespace glint
