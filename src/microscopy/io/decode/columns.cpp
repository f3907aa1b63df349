// The list of DECODE's columns and the meaning of their values.
// SPDX-License-Identifier: MIT
#include "io/decode/columns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "glint/error.hpp"

namespace glint {
namespace {

using SortedJson = nlohmann::json;

double pixel_size_of(const SortedJson& value) {
    constexpr double largest_nm = 1e6;
    const double nm = value.is_number() ? value.get<double>() : 0;
    return nm > 0 && nm <= largest_nm ? nm : 0;
}

}  // namespace

DecodeMeta decode_meta(std::string_view json) {
    DecodeMeta meta;
    constexpr std::size_t longest = 4096;
    const SortedJson all = json.size() <= longest ? SortedJson::parse(json, nullptr, false) : SortedJson();
    if (!all.is_object()) return meta;
    if (const auto unit = all.find("xy_unit"); unit != all.end() && unit->is_string())
        meta.xy_unit = unit->get<std::string>();
    if (const auto sizes = all.find("px_size"); sizes != all.end() && sizes->is_array() && sizes->size() >= 2)
        meta.px_size_x_nm = pixel_size_of((*sizes)[0]), meta.px_size_y_nm = pixel_size_of((*sizes)[1]);
    return meta;
}

void complete_decode_meta(DecodeMeta& meta, double pixel_size_nm, const std::string& file) {
    if (meta.px_size_x_nm == 0 || meta.px_size_y_nm == 0) meta.px_size_x_nm = meta.px_size_y_nm = pixel_size_nm;
    if (meta.xy_unit != "px" && meta.xy_unit != "nm")
        throw InputError(fmt::format(
            "{}: its metadata have the xy_unit \"{}\", and px or nm is needed: set it in DECODE, or write a "
            "CSV with the header frame,x [px],y [px],z [nm],intensity [photon], with x along columns",
            file, meta.xy_unit));
    if (meta.xy_unit == "nm" && !(meta.px_size_x_nm > 0))
        throw OptionError(
            fmt::format("{} does not say the size of a camera pixel, which its lengths need: give it, as in "
                        "`table_pixel_size=100nm`",
                        file));
}

DecodeMeaning decode_meaning(std::string_view column, const DecodeMeta& meta, bool uses_sig) {
    const bool in_nm = meta.xy_unit == "nm";
    const double x_scale = in_nm ? 1 / meta.px_size_x_nm : 1, y_scale = in_nm ? 1 / meta.px_size_y_nm : 1;
    struct Known {
        std::string_view column, name;
        double scale;
    };
    const Known plain[] = {{"x", "y", x_scale},    {"y", "x", y_scale}, {"z", "z", 1},
                           {"phot", "photons", 1}, {"bg", "bg", 1},     {"frame_ix", "frame", 1}};
    const Known uncertain[] = {
        {"x", "lpy", x_scale}, {"y", "lpx", y_scale}, {"z", "lpz", 1}, {"phot", "photons_unc", 1}, {"bg", "bg_unc", 1}};
    for (const Known& known : plain)
        if (column == known.column) return {std::string(known.name), known.scale, false, true};
    for (const Known& known : uncertain) {
        if (column == std::string(known.column) + "_sig")
            return {uses_sig ? std::string(known.name) : "", known.scale, false, true};
        if (column == std::string(known.column) + "_cr")
            return {uses_sig ? "" : std::string(known.name), known.scale, true, true};
    }
    return {std::string(column), 1, false, false};
}

CsvHeader decode_header(const std::vector<std::string_view>& cells, const DecodeMeta& meta, bool uses_sig) {
    CsvHeader header;
    header.first_frame = 0;
    header.is_first_frame_known = header.from_centre = true;
    header.idle = {"id"};  // -1 in all rows
    for (const std::string_view cell : cells) {
        const DecodeMeaning meaning = decode_meaning(cell, meta, uses_sig);
        CsvColumn column{std::string(cell), {}, meaning.known};
        if (!meaning.name.empty()) column.names = {meaning.name};
        column.scale = meaning.scale, column.is_variance = meaning.is_variance;
        header.columns.push_back(std::move(column));
    }
    return header;
}

}  // namespace glint
