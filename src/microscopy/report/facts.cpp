// Collects what the page shows beside the picture.
// SPDX-License-Identifier: MIT
#include "report/facts.hpp"

#include <cmath>
#include <cstdlib>

namespace glint {
namespace {

PageJson measured_json(const Measured& figure) { return {{"nm", figure.nm}, {"error_nm", figure.error_nm}}; }

/// Returns values with so few decimals that their text is short. `per_unit`: steps per unit, a whole number.
PageJson rounded_values(const std::vector<double>& values, double per_unit) {
    PageJson json = PageJson::array();
    for (const double value : values) json.push_back(std::round(value * per_unit) / per_unit);
    return json;
}

/// Returns the number after "Name: " at the start of a line; NaN if there is none.
double number_in(const std::string& text, const std::string& name) {
    const std::string key = name + ": ";
    for (std::size_t at = text.find(key); at != text.npos; at = text.find(key, at + 1)) {
        if (at > 0 && text[at - 1] != '\n') continue;
        const char* begin = text.c_str() + at + key.size();
        char* end = nullptr;
        const double value = std::strtod(begin, &end);
        if (end != begin) return value;
    }
    return std::nan("");
}

}  // namespace

PageJson resolution_facts(const Resolution& found) {
    const Nena& nena = found.nena;
    const Frc& frc = found.frc;
    return {{"nena",
             {{"precision", measured_json(nena.precision)},
              {"single", measured_json(nena.single)},
              {"stated_nm", nena.stated_nm},
              {"same_molecule", nena.same_molecule},
              {"pairs", nena.pairs},
              {"distance_nm", nena.distance_nm},
              {"counts", nena.counts},
              {"fit", nena.fit}}},
            {"frc",
             {{"resolution", measured_json(frc.resolution)},
              {"units", frc.units},
              {"splits", frc.splits},
              {"frequency_per_nm", frc.frequency_per_nm},
              {"correlation", frc.correlation},
              {"smoothed", frc.smoothed}}},
            {"caveats", found.caveats}};
}

PageJson drift_facts(const Drift& drift) {
    constexpr std::size_t max_errors = 1000;
    PageJson json;
    const std::pair<const char*, const AxisDrift*> axes[] = {{"x", &drift.x}, {"y", &drift.y}, {"z", &drift.z}};
    for (const auto& [name, axis] : axes) {
        if (axis->nm.empty()) continue;
        json[std::string(name) + "_nm"] = rounded_values(axis->nm, 100);
        if (axis->error_nm.empty()) continue;
        const std::size_t step = (axis->error_nm.size() + max_errors - 1) / max_errors;
        std::vector<double> errors;
        for (std::size_t frame = 0; frame < axis->error_nm.size(); frame += step)
            errors.push_back(axis->error_nm[frame]);
        json[std::string(name) + "_error_nm"] = rounded_values(errors, 1000);
        json["error_step"] = step;
    }
    return json;
}

PageJson camera_facts(const Localizations& table, const PageJson& record) {
    const auto camera_of = [](double offset, double gain, double em_gain, const char* from) -> PageJson {
        if (!std::isfinite(offset) || !(gain > 0)) return nullptr;
        return {{"offset_adu", offset}, {"gain_e_per_adu", em_gain > 0 ? gain / em_gain : gain}, {"from", from}};
    };
    const PageJson::json_pointer in_record("/steps/localize/results/camera");
    if (record.contains(in_record) && record[in_record].is_object()) {
        const PageJson& camera = record[in_record];
        const auto number = [&](const char* name, double otherwise) {
            return camera.contains(name) && camera[name].is_number() ? camera[name].get<double>() : otherwise;
        };
        const double offset = number("offset_adu", std::nan("")), gain = number("gain_e_per_adu", std::nan(""));
        return camera_of(offset, gain, number("em_gain", 1), "the record of the run");
    }
    for (const std::string& step : table.history) {
        const double gain = number_in(step, "Sensitivity");
        if (gain > 0)
            return camera_of(number_in(step, "Baseline"), gain, number_in(step, "Gain"), "the table's history");
    }
    return nullptr;
}

std::vector<std::string> missing_facts(const Localizations& table, const ReportOptions& options) {
    std::vector<std::string> missing;
    const auto lacks = [&](bool is_missing, const char* sentence) {
        if (is_missing) missing.emplace_back(sentence);
    };
    lacks(table.size() == 0, "The table has no rows.");
    if (table.size() == 0) return missing;
    lacks(!(table.pixel_size_nm > 0), "The pixel size is unknown: lengths are in camera pixels.");
    lacks(table.lpx_px.empty() || table.lpy_px.empty(),
          "The table has no precision (lpx, lpy): all molecules are drawn with one width.");
    lacks(table.photons.empty(), "The table has no photons.");
    lacks(table.bg.empty(), "The table has no background (bg).");
    lacks(table.sx_px.empty() && table.sy_px.empty(), "The table has no widths (sx, sy).");
    lacks(table.p_value.empty(), "The table has no p values.");
    lacks(!options.movie, "The movie is not known: raw frames are not shown.");
    lacks(!options.resolution, "NeNA and FRC of the whole table were not measured.");
    lacks(!options.drift, "The drift of the movie is not known.");
    lacks(options.record.empty(), "There is no record of a run: recipe, camera and warnings are not shown.");
    return missing;
}

}  // namespace glint
