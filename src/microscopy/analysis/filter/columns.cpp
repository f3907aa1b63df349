// Finds columns by name, and the factors between their units.
// SPDX-License-Identifier: MIT
#include "analysis/filter/columns.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <type_traits>

#include "base/nearest_name.hpp"

namespace glint::conditions {
namespace {

double nm_in(std::string_view unit, double pixel_size_nm) {
    return unit == "px" ? pixel_size_nm : unit == "um" ? 1000 : 1;
}

bool is_length(const LocalizationColumn& column) { return column.unit == "px" || column.unit == "nm"; }

/// Returns "nm" for "lpx_nm" and the column lpx. Empty for other names.
std::string_view unit_in(std::string_view name, const LocalizationColumn& column) {
    if (!is_length(column) || !name.starts_with(column.name)) return {};
    name.remove_prefix(column.name.size());
    return name == "_px" || name == "_nm" || name == "_um" ? name.substr(1) : std::string_view();
}

/// Returns the names of all columns of the table, for messages.
std::vector<std::string> names_in(const Localizations& table) {
    std::vector<std::string> names = {"frame"};
    for (const LocalizationColumn& column : localization_columns())
        if (!(table.*column.values).empty()) names.emplace_back(column.name);
    if (!table.iterations.empty()) names.emplace_back("iterations");
    if (!table.status.empty()) names.emplace_back("status");
    for (const auto& [name, column] : table.extra) names.push_back(is_name(name) ? name : "`" + name + "`");
    return names;
}

[[noreturn]] void refuse_name(const Localizations& table, const std::string& name, std::string_view text,
                              TextRange place) {
    constexpr std::size_t max_shown = 60;
    std::vector<std::string> names = names_in(table);
    std::string near = nearest_name(name.substr(0, 60), names);
    if (name.starts_with("uncertainty") && !table.lpx_px.empty()) near = "lpx_nm";  // ThunderSTORM's name
    const std::size_t unit = name.size() < 3 ? name.npos : name.size() - 3;
    if (near.empty() && unit != name.npos && name[unit] == '_')
        for (const LocalizationColumn& column : localization_columns())
            if (column.name == name.substr(0, unit) && !is_length(column)) near = column.name;  // as in photons_nm
    const std::size_t more = names.size() - std::min(names.size(), max_shown);
    names.resize(names.size() - more);
    refuse(text, place,
           fmt::format("there is no column {}{} Columns: {}{}; names of lengths may end in _px, _nm, _um", name,
                       near.empty() ? "." : ": did you mean " + near + "?", fmt::join(names, ", "),
                       more > 0 ? fmt::format(" and {} more", more) : ""));
}

[[noreturn]] void refuse_pixels(std::string_view text, TextRange place) {
    refuse(text, place,
           "this unit needs the pixel size, which the table does not contain: give it, as in "
           "`written_pixel_size=100nm`");
}

}  // namespace

Column find_column(const Localizations& table, const std::string& name, std::string_view text, TextRange place) {
    const bool is_empty = table.size() == 0;  // an empty table may lack columns
    if (name == "frame") return {&Localizations::frame};
    if (name == "iterations" && (is_empty || !table.iterations.empty())) return {&Localizations::iterations};
    if (name == "status" && (is_empty || !table.status.empty())) return {&Localizations::status};
    if (table.extra.contains(name)) return {name};
    for (const LocalizationColumn& column : localization_columns()) {
        if (!is_empty && (table.*column.values).empty()) continue;
        if (column.name == name) return {column.values};
        const std::string_view unit = unit_in(name, column);
        if (unit.empty()) continue;
        if (unit == column.unit) return {column.values};
        if ((unit == "px" || column.unit == "px") && !(table.pixel_size_nm > 0)) refuse_pixels(text, place);
        return {column.values, nm_in(column.unit, table.pixel_size_nm) / nm_in(unit, table.pixel_size_nm)};
    }
    refuse_name(table, name, text, place);
}

void Column::copy(const Localizations& table, std::size_t first, std::span<double> to) const {
    const auto copy_from = [&](const auto& from) {
        for (std::size_t k = 0; k < to.size(); ++k) to[k] = scale * double(from[first + k]);
    };
    if (const auto* extra = std::get_if<std::string>(&values)) return copy_from(table.extra.at(*extra).values);
    std::visit(
        [&](const auto& member) {
            if constexpr (std::is_member_pointer_v<std::remove_cvref_t<decltype(member)>>) copy_from(table.*member);
        },
        values);
}

double in_pixels(double length, const std::string& unit, const Localizations& table, std::string_view text,
                 TextRange place) {
    if (unit == "px") return length;
    if (!(table.pixel_size_nm > 0)) refuse_pixels(text, place);
    return length * nm_in(unit, 0) / table.pixel_size_nm;
}

}  // namespace glint::conditions
