// Reads rapidSTORM's localization files: XML in the first line names the columns, which blanks separate.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <cmath>
#include <sstream>

#include "glint/error.hpp"
#include "io/csv/layout.hpp"
#include "io/files/input_file.hpp"
#include "io/localization_formats.hpp"
#include "io/xml_text.hpp"

namespace glint {
namespace {

namespace fs = std::filesystem;
constexpr std::string_view rapid_beginning = "# <localizations";

/// An attribute <field>: a column.
struct RapidField {
    std::string identifier, semantic, unit, max;
};

/// Throws InputError if the file holds tracks, whose lines differ in length.
std::vector<RapidField> rapid_fields(const fs::path& path) {
    const std::string line = first_line(path);
    if (line.find("</localizations>") == line.npos)
        throw InputError(fmt::format(
            "{}: its first line, which describes the columns, ends before </localizations>: the file is damaged "
            "or cut; copy or write it again",
            path.string()));
    std::vector<RapidField> fields;
    int tables = 0;
    for_each_element(std::string_view(line).substr(2), path.string(), [&](const pugi::xml_node& element) {
        if (local_name(element) == "localizations") ++tables;
        if (local_name(element) != "field") return;
        const auto value = [&](const char* key) { return std::string(attribute(element, key)); };
        fields.push_back({value("identifier"), value("semantic"), value("unit"), value("max")});
    });
    if (tables > 1)
        throw InputError(
            fmt::format("{}: is a table of rapidSTORM's tracks, which glint does not read: write the localizations "
                        "without tracking, and link them by `glint link`",
                        path.string()));
    return fields;
}

std::string rapid_unit(const RapidField& field) {
    if (field.unit == "nanometer") return "nm";
    if (field.unit == "micrometer") return "um";
    if (field.unit == "meter") return "m";
    return field.unit == "pixel" ? "px" : field.unit;
}

/// Returns the number of "3.27165e-005 m"; nullopt for another unit.
std::optional<double> limit_in(const std::string& text, std::string_view unit) {
    std::istringstream in(text);
    double value = 0;
    std::string found;
    if (!(in >> value >> found) || found != unit || !std::isfinite(value)) return std::nullopt;
    return value;
}

/// Returns the movie's size from the limits of the positions, which are the centres of the first and the last pixel.
int pixels_along(const RapidField& field, const char* side, double pixel_size_nm, const fs::path& path,
                 const Warn& warn) {
    constexpr double largest = 1e6, tolerance = 0.02;
    const auto metres = limit_in(field.max, "m");
    if (!metres || *metres <= 0 || !(pixel_size_nm > 0)) return 0;
    const double steps = *metres * 1e9 / pixel_size_nm;
    if (steps < largest && std::abs(steps - std::round(steps)) < tolerance) return int(std::round(steps)) + 1;
    if (warn)
        warn(fmt::format(
            "{}: positions reach up to {:.1f} nm in {}, which is no whole number of pixels of {} nm ({:.2f}): "
            "check the pixel size",
            path.string(), *metres * 1e9, side, pixel_size_nm, steps));
    return 0;
}

struct RapidColumn {
    std::string_view identifier, name;
};
constexpr RapidColumn rapid_lengths[] = {
    {"Position-0-0", "x"},
    {"Position-1-0", "y"},
    {"Position-2-0", "z"},
    {"Position-0-0-uncertainty", "lpx"},
    {"Position-1-0-uncertainty", "lpy"},
    {"Position-2-0-uncertainty", "lpz"},
};
constexpr RapidColumn rapid_others[] = {
    {"ImageNumber-0-0", "frame"},
    {"Amplitude-0-0", "amplitude"},
    {"TwoKernelImprovement-0-0", "two_kernel_improvement"},
    {"FitResidues-0-0", "fit_residues"},
    {"LocalBackground-0-0", "local_background"},
};

void add_rapid_column(const RapidField& field, TextLayout& layout) {
    layout.headers.push_back(field.identifier);
    for (const RapidColumn& length : rapid_lengths)
        if (field.identifier == length.identifier)
            layout.columns[fmt::format("{} [{}]", length.name, rapid_unit(field))] = field.identifier;
    for (const RapidColumn& other : rapid_others)
        if (field.identifier == other.identifier) layout.columns[std::string(other.name)] = field.identifier;
    for (const auto& [identifier, name] : {std::pair("PSFWidth-0-0", "sx"), std::pair("PSFWidth-1-0", "sy")})
        if (field.identifier == identifier && field.semantic.find("FWHM") != std::string::npos) {
            layout.columns[fmt::format("{} [{}]", name, rapid_unit(field))] = field.identifier;
            layout.factors[field.identifier] = 1 / (2 * std::sqrt(2 * std::log(2)));
        }
}

bool is_rapidstorm(const fs::path& path) { return begins_with(InputFile(path), rapid_beginning); }

OpenTable open_rapidstorm(const fs::path& path, double pixel_size_nm, const Warn& warn, const TextConventions& text) {
    TextLayout layout;
    layout.separator = ' ';
    layout.first_frame = 0;
    layout.from_centre = true;
    for (const RapidField& field : rapid_fields(path)) {
        add_rapid_column(field, layout);
        if (field.identifier == "Position-0-0")
            layout.about.width = pixels_along(field, "x", pixel_size_nm, path, warn);
        if (field.identifier == "Position-1-0")
            layout.about.height = pixels_along(field, "y", pixel_size_nm, path, warn);
        if (const auto last = limit_in(field.max, "fr"); field.identifier == "ImageNumber-0-0" && last && *last >= 0)
            layout.about.frames = std::int64_t(std::min(*last, 4294967295.0)) + 1;
    }
    const bool has_counts = layout.columns.contains("amplitude");
    OpenTable table = open_text(path, pixel_size_nm, warn, text, std::move(layout));
    if (warn && has_counts && !table->builder.has("photons"))
        warn(fmt::format(
            "{}: rapidSTORM's amplitude is in A/D counts, not in photons: it is kept as column amplitude, and "
            "the table has no photons; for these, multiply it by the gain (e-/ADU) and write a CSV with a "
            "column intensity [photon]",
            path.string()));
    return table;
}

}  // namespace

TableFormat rapidstorm_tables() {
    return {.name = "rapidSTORM",
            .endings = {".txt"},
            .is = [](const TableContent& content) { return content.hdf5 < 0 && is_rapidstorm(content.path); },
            .open = open_rapidstorm};
}

}  // namespace glint
