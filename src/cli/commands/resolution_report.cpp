// The figures of `glint resolution`, each with its error, as text and as JSON.
// SPDX-License-Identifier: MIT
#include "cli/commands/resolution_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <vector>

#include "cli/console.hpp"
#include "cli/spelling.hpp"

namespace glint::cli {
namespace {

std::string text(const Measured& figure) {
    return std::isnan(figure.nm) ? "-" : fmt::format("{:.2f} +- {:.2f} nm", figure.nm, figure.error_nm);
}

nlohmann::ordered_json as_json(const Measured& figure) { return {{"nm", figure.nm}, {"error_nm", figure.error_nm}}; }

nlohmann::ordered_json nena_json(const Nena& nena) {
    return {{"lag", nena.lag},
            {"precision", as_json(nena.precision)},
            {"rms", as_json(nena.rms)},
            {"single", as_json(nena.single)},
            {"stated_nm", nena.stated_nm},
            {"same_molecule", nena.same_molecule},
            {"pairs", nena.pairs}};
}

/// Percentiles over the tiles that have a value: 10th, 50th, 90th.
struct ByPlace {
    std::size_t tiles = 0, all = 0;
    std::array<double, 3> nm{};
    double typical_error_nm = 0;
};

std::optional<ByPlace> by_place(const Resolution& result) {
    std::vector<float> values, errors;
    for (std::size_t k = 0; k < result.precision_nm.values.size(); ++k) {
        if (std::isnan(result.precision_nm.values[k])) continue;
        values.push_back(result.precision_nm.values[k]);
        errors.push_back(result.precision_error_nm.values[k]);
    }
    if (values.size() < 2) return {};
    std::sort(values.begin(), values.end());
    std::sort(errors.begin(), errors.end());
    ByPlace found{values.size(), result.precision_nm.values.size(), {}, errors[errors.size() / 2]};
    for (std::size_t k = 0; k < 3; ++k)
        found.nm[k] = values[std::size_t((0.1 + 0.4 * double(k)) * double(values.size() - 1) + 0.5)];
    return found;
}

}  // namespace

nlohmann::ordered_json resolution_json(const Localizations& table, const Resolution& result) {
    nlohmann::ordered_json json{{"localizations", table.size()}, {"nena", nena_json(result.nena)}};
    json["nena"]["distance_nm"] = result.nena.distance_nm;
    json["nena"]["counts"] = result.nena.counts;
    json["nena"]["fit"] = result.nena.fit;
    for (const Nena& later : result.later) json["later"].push_back(nena_json(later));
    const Frc& frc = result.frc;
    json["frc"] = {{"resolution", as_json(frc.resolution)},
                   {"coarsest_nm", frc.coarsest_nm},
                   {"random_nm", frc.random_nm},
                   {"like_random", frc.like_random},
                   {"units", frc.units},
                   {"splits", frc.splits},
                   {"link_radius_nm", frc.link_radius_nm}};
    if (const auto place = by_place(result))
        json["by_place"] = {{"tile_nm", result.precision_nm.pixel_size_nm},
                            {"first_tile_nm", {result.map_x_nm, result.map_y_nm}},
                            {"tiles", place->tiles},
                            {"p10_nm", place->nm[0]},
                            {"p50_nm", place->nm[1]},
                            {"p90_nm", place->nm[2]},
                            {"error_nm", place->typical_error_nm}};
    json["caveats"] = nlohmann::ordered_json::array();
    for (const std::string& caveat : result.caveats) json["caveats"].push_back(in_flags(caveat));
    return json;
}

void print_resolution(const Localizations& table, const Resolution& result) {
    const Nena& nena = result.nena;
    Summary summary;
    summary.add("localizations", with_commas(std::int64_t(table.size())))
        .add("NeNA", fmt::format("{} (rms {}; of one precision for all {})", text(nena.precision), text(nena.rms),
                                 text(nena.single)))
        .add("stated", std::isnan(nena.stated_nm) ? "-"
                                                  : fmt::format("{:.2f} nm, of the same {} pairs", nena.stated_nm,
                                                                with_commas(std::int64_t(nena.pairs))));
    for (const Nena& later : result.later)
        summary.add(fmt::format("NeNA, {} frames", later.lag), text(later.precision));
    summary.add("FRC", fmt::format("{} ({} splits of {} {})", text(result.frc.resolution), result.frc.splits,
                                   with_commas(std::int64_t(result.frc.units)),
                                   result.frc.link_radius_nm > 0 ? "blinks" : "blocks"));
    if (const auto place = by_place(result))
        summary.add("by place", fmt::format("{:.2f}, {:.2f}, {:.2f} nm in {} of {} tiles of {:g} um, each +- {:.2f}",
                                            place->nm[0], place->nm[1], place->nm[2], place->tiles, place->all,
                                            result.precision_nm.pixel_size_nm / 1000, place->typical_error_nm));
    summary.print();
}

}  // namespace glint::cli
