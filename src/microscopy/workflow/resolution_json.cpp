// NeNA, FRC and local precision, as JSON.
// SPDX-License-Identifier: MIT
#include "workflow/resolution_json.hpp"

#include <algorithm>
#include <cmath>

namespace glint {
namespace {

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

}  // namespace

std::optional<PrecisionByPlace> precision_by_place(const Resolution& result) {
    std::vector<float> values, errors;
    for (std::size_t k = 0; k < result.precision_nm.values.size(); ++k) {
        if (std::isnan(result.precision_nm.values[k])) continue;
        values.push_back(result.precision_nm.values[k]);
        errors.push_back(result.precision_error_nm.values[k]);
    }
    if (values.size() < 2) return {};
    std::sort(values.begin(), values.end());
    std::sort(errors.begin(), errors.end());
    PrecisionByPlace found{values.size(), result.precision_nm.values.size(), {}, errors[errors.size() / 2]};
    for (std::size_t k = 0; k < 3; ++k)
        found.nm[k] = values[std::size_t((0.1 + 0.4 * double(k)) * double(values.size() - 1) + 0.5)];
    return found;
}

nlohmann::ordered_json resolution_json(const Localizations& table, const Resolution& result,
                                       const std::function<std::string(const std::string&)>& words) {
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
    if (const auto place = precision_by_place(result))
        json["by_place"] = {{"tile_nm", result.precision_nm.pixel_size_nm},
                            {"first_tile_nm", {result.map_x_nm, result.map_y_nm}},
                            {"tiles", place->tiles},
                            {"p10_nm", place->nm[0]},
                            {"p50_nm", place->nm[1]},
                            {"p90_nm", place->nm[2]},
                            {"error_nm", place->typical_error_nm}};
    json["caveats"] = nlohmann::ordered_json::array();
    for (const std::string& caveat : result.caveats) json["caveats"].push_back(words(caveat));
    return json;
}

}  // namespace glint
