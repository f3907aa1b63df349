// What ThunderSTORM's CSV and SMLMAnalysis' HDF5 leave out. Picasso's HDF5 keeps all.
// SPDX-License-Identifier: MIT
#include "io/lost_columns.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>
#include <string_view>
#include <vector>

#include "glint/localization_io.hpp"
#include "io/localization_formats.hpp"

namespace glint {
namespace {

using Names = std::set<std::string_view>;

/// Of localization_columns() and `iterations`. CSV has lpx and lpy as their mean, and log_likelihood as chi2, unless the table came with one.
Names lost_in(LocalizationFormat format, const Localizations& like) {
    switch (format) {
        case LocalizationFormat::thunderstorm_csv: {
            Names lost{"photons_unc",     "bg_unc",   "sx_unc",  "sy_unc",
                       "detection_score", "emitters", "p_value", "iterations"};
            if (like.lpx_px != like.lpy_px) lost.merge(Names{"lpx", "lpy"});
            if (like.extra.contains("chi2")) lost.insert("log_likelihood");
            return lost;
        }
        case LocalizationFormat::smlm_hdf5: return {"detection_score", "log_likelihood", "emitters", "iterations"};
        case LocalizationFormat::picasso_hdf5: break;
    }
    return {};
}

}  // namespace

std::string lost_columns_text(const std::filesystem::path& path, const Localizations& like) {
    const LocalizationFormat format = localization_format(path);
    const Names lost = lost_in(format, like);
    std::vector<std::string> names;
    for (const LocalizationColumn& column : localization_columns())
        if (lost.contains(column.name) && !(like.*column.values).empty()) names.emplace_back(column.name);
    if (lost.contains("iterations") && !like.iterations.empty()) names.emplace_back("iterations");
    const auto add = [&](std::vector<std::string> more) { names.insert(names.end(), more.begin(), more.end()); };
    if (format == LocalizationFormat::thunderstorm_csv) add(left_out_of_csv(like));
    if (format == LocalizationFormat::smlm_hdf5) add(left_out_of_smlm(like));
    if (names.empty()) return "";
    return fmt::format(
        "{}: this format has no place for the columns {}{}: a name that ends in .hdf5 (Picasso) keeps them",
        path.string(), fmt::join(names, ", "),
        lost.contains("lpx") && !like.lpx_px.empty() && !like.lpy_px.empty() ? " (of lpx and lpy it has the mean)"
                                                                             : "");
}

}  // namespace glint
