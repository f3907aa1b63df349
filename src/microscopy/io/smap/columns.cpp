// The list of SMAP's columns, read and written.
// SPDX-License-Identifier: MIT
#include "io/smap/columns.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace glint {
namespace {

using L = Localizations;

const std::map<std::string, SmapMeaning, std::less<>>& known_meanings() {
    static const std::map<std::string, SmapMeaning, std::less<>> known = {
        {"frame", {{"frame"}, SmapMeaning::plain, true}},
        {"xnm", {{"x"}, SmapMeaning::position_x, true}},
        {"ynm", {{"y"}, SmapMeaning::position_y, true}},
        {"znm", {{"z"}, SmapMeaning::plain, true}},
        {"phot", {{"photons"}, SmapMeaning::plain, true}},
        {"bg", {{"bg"}, SmapMeaning::plain, true}},
        {"photerr", {{"photons_unc"}, SmapMeaning::plain, true}},
        {"bgerr", {{"bg_unc"}, SmapMeaning::plain, true}},
        {"xnmerr", {{"lpx"}, SmapMeaning::lateral, true}},
        {"ynmerr", {{"lpy"}, SmapMeaning::lateral, true}},
        {"locprecnm", {{"lpx", "lpy"}, SmapMeaning::lateral, true}},
        {"locprecznm", {{"lpz"}, SmapMeaning::plain, true}},
        {"PSFxnm", {{"sx", "sy"}, SmapMeaning::lateral, true}},
        {"PSFynm", {{"sy"}, SmapMeaning::lateral, true}},
        {"logLikelihood", {{"log_likelihood"}, SmapMeaning::plain, true}},
        {"iterations", {{"iterations"}, SmapMeaning::plain, true}},
    };
    return known;
}

/// Columns in pixels that another column contains in nm.
constexpr const char* repeated_names[] = {"xpix",    "ypix",    "xpixerr", "ypixerr", "xerrpix",
                                          "yerrpix", "PSFxpix", "PSFypix", "zerr",    "znmerr"};
/// Names to which SMAP gives its own meaning, and for which glint has no value.
constexpr const char* own_names[] = {"channel", "filenumber"};

/// A field name of MATLAB. namelengthmax is 63.
bool is_field_name(const std::string& name) {
    const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
    constexpr std::size_t longest = 63;
    return !name.empty() && name.size() <= longest && is_letter(name[0]) &&
           std::all_of(name.begin(), name.end(),
                       [&](char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '_'; });
}

/// Columns of glint without a name in SMAP keep their names and glint's units.
constexpr const char* kept_names[] = {"sx_unc", "sy_unc", "detection_score", "emitters", "p_value"};

/// Returns true if a reader would interpret an extra column as another one.
bool has_other_meaning(const std::string& name) {
    const auto is_own = [&](const LocalizationColumn& column) { return name == column.name; };
    const auto& columns = localization_columns();
    return known_meanings().contains(name) || name == "status" || name == "likelihood" ||
           std::any_of(columns.begin(), columns.end(), is_own) ||
           std::find(std::begin(repeated_names), std::end(repeated_names), name) != std::end(repeated_names);
}

}  // namespace

std::vector<SmapMeaning> smap_meanings(const std::vector<std::string>& names) {
    const std::set<std::string> there(names.begin(), names.end());
    const bool has_both = there.contains("xnmerr") && there.contains("ynmerr");
    std::vector<SmapMeaning> meanings;
    for (const std::string& name : names) {
        const auto known = known_meanings().find(name);
        SmapMeaning meaning = known != known_meanings().end() ? known->second : SmapMeaning{{name}};
        if (std::find(std::begin(repeated_names), std::end(repeated_names), name) != std::end(repeated_names))
            meaning = {{}, SmapMeaning::skipped};
        if (name == "PSFxnm" && there.contains("PSFynm")) meaning.names = {"sx"};
        if (name == "locprecnm" && has_both) meaning = {{}, SmapMeaning::skipped};
        if (!has_both && (name == "xnmerr" || name == "ynmerr") && there.contains("locprecnm"))
            meaning = {{}, SmapMeaning::skipped};
        meanings.push_back(std::move(meaning));
    }
    return meanings;
}

std::vector<SmapColumn> smap_columns(const L& like, std::vector<std::string>* left_out) {
    const double pixel = like.pixel_size_nm;
    std::vector<SmapColumn> columns;
    const auto position = [&](const char* name, std::vector<float> L::*of) {
        columns.push_back({name, SmapColumn::float32, false,
                           [=](const L& t, std::size_t k) { return (double((t.*of)[k]) + 1) * pixel; }});
    };
    const auto present = [&](const char* name, std::vector<float> L::*of, double scale) {
        if ((like.*of).empty()) return;
        columns.push_back(
            {name, SmapColumn::float32, false, [=](const L& t, std::size_t k) { return (t.*of)[k] * scale; }});
    };
    columns.push_back(
        {"frame", SmapColumn::whole, false, [](const L& t, std::size_t k) { return double(t.frame[k]) + 1; }});
    position("xnm", &L::x_px), position("ynm", &L::y_px);
    present("znm", &L::z_nm, 1);
    present("phot", &L::photons, 1), present("bg", &L::bg, 1);
    if (!like.lpx_px.empty() && !like.lpy_px.empty())
        columns.push_back(
            {"locprecnm", SmapColumn::float32, false, [pixel](const L& t, std::size_t k) {
                 return std::sqrt((double(t.lpx_px[k]) * t.lpx_px[k] + double(t.lpy_px[k]) * t.lpy_px[k]) / 2) * pixel;
             }});
    present("locprecznm", &L::lpz_nm, 1);
    present("PSFxnm", &L::sx_px, pixel), present("PSFynm", &L::sy_px, pixel);
    present("xnmerr", &L::lpx_px, pixel), present("ynmerr", &L::lpy_px, pixel);
    present("photerr", &L::photons_unc, 1), present("bgerr", &L::bg_unc, 1);
    present("logLikelihood", &L::log_likelihood, 1);
    for (const LocalizationColumn& column : localization_columns())
        if (std::find(std::begin(kept_names), std::end(kept_names), column.name) != std::end(kept_names))
            present(column.name.data(), column.values, 1);
    if (!like.iterations.empty())
        columns.push_back({"iterations", SmapColumn::whole, false,
                           [](const L& t, std::size_t k) { return double(t.iterations[k]); }});
    if (!like.status.empty())
        columns.push_back(
            {"status", SmapColumn::whole, false, [](const L& t, std::size_t k) { return double(t.status[k]); }});
    for (const auto& [name, column] : like.extra) {
        if (column.values.empty()) continue;
        if (!is_field_name(name) || has_other_meaning(name)) {
            if (left_out) left_out->push_back(name);
            continue;
        }
        columns.push_back({name, column.is_integer ? SmapColumn::whole : SmapColumn::float64, true,
                           [name = name](const L& t, std::size_t k) { return t.extra.at(name).values[k]; }});
    }
    for (const char* name : own_names)  // SMAP expects them
        if (!like.extra.contains(name))
            columns.push_back({name, SmapColumn::whole, false,
                               [value = name == std::string_view("filenumber") ? 1.0 : 0.0](const L&, std::size_t) {
                                   return value;
                               }});
    return columns;
}

}  // namespace glint
