// Column names, units and origins of the CSV files in use.
// SPDX-License-Identifier: MIT
#include "io/csv/columns.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "glint/error.hpp"
#include "io/csv/lines.hpp"
#include "io/metadata_values.hpp"
#include "io/smap/columns.hpp"

namespace glint {
namespace {

enum class Kind { ignored, plain, photons, position, length, depth };

struct Known {
    const char* spelling;  ///< in lower case, without the unit
    Kind kind;
    std::vector<std::string> names;
};

const std::vector<Known>& known_columns() {
    static const std::vector<Known> known = {
        {"id", Kind::ignored, {}},
        {"no", Kind::ignored, {}},
        {"ground-truth", Kind::ignored, {}},
        {"frame", Kind::plain, {"frame"}},
        {"frame_ix", Kind::plain, {"frame"}},
        {"x", Kind::position, {"x"}},
        {"y", Kind::position, {"y"}},
        {"z", Kind::depth, {"z"}},
        {"xnano", Kind::position, {"x"}},
        {"ynano", Kind::position, {"y"}},
        {"znano", Kind::depth, {"z"}},
        {"xnm", Kind::position, {"x"}},
        {"ynm", Kind::position, {"y"}},
        {"znm", Kind::depth, {"z"}},
        {"sx", Kind::length, {"sx"}},
        {"sy", Kind::length, {"sy"}},
        {"sigma", Kind::length, {"sx", "sy"}},
        {"sigma1", Kind::length, {"sx"}},
        {"sigma2", Kind::length, {"sy"}},
        {"intensity", Kind::photons, {"photons"}},
        {"photons", Kind::photons, {"photons"}},
        {"offset", Kind::photons, {"bg"}},
        {"bg", Kind::photons, {"bg"}},
        {"phot", Kind::photons, {"photons"}},
        {"background", Kind::photons, {"bg"}},
        {"bkgstd", Kind::photons, {"bkgstd"}},
        {"chi2", Kind::plain, {"chi2"}},
        {"uncertainty", Kind::length, {"lpx", "lpy"}},
        {"uncertainty_xy", Kind::length, {"lpx", "lpy"}},
        {"uncertainty_z", Kind::depth, {"lpz"}},
        {"lpx", Kind::length, {"lpx"}},
        {"lpy", Kind::length, {"lpy"}},
        {"lpz", Kind::depth, {"lpz"}},
        {"x precision", Kind::length, {"lpx"}},
        {"y precision", Kind::length, {"lpy"}},
        {"z precision", Kind::depth, {"lpz"}},
        {"psf sigma x", Kind::length, {"sx"}},
        {"psf sigma y", Kind::length, {"sy"}},
        {"locprecnm", Kind::length, {"lpx", "lpy"}},
        {"locprecznm", Kind::depth, {"lpz"}},
        {"psfxnm", Kind::length, {"sx", "sy"}},
        {"psfynm", Kind::length, {"sy"}},
    };
    return known;
}

std::string lower(std::string_view text) {
    std::string out(text);
    for (char& c : out) c = char(std::tolower(static_cast<unsigned char>(c)));
    return out;
}

struct NameAndUnit {
    std::string name, unit;
    bool suffixed = false;  ///< "x_nm": glint's own style
};

NameAndUnit split_unit(std::string_view header) {
    const std::string text = lower(header);
    const std::size_t open = text.find_last_of("[(");
    if (open != std::string::npos && (text.back() == ']' || text.back() == ')')) {
        std::string name = text.substr(0, open);
        while (!name.empty() && name.back() == ' ') name.pop_back();
        std::string unit = text.substr(open + 1, text.size() - open - 2);
        while (!unit.empty() && unit.back() == ' ') unit.pop_back();
        unit.erase(0, std::min(unit.find_first_not_of(' '), unit.size()));
        return {name, unit, false};
    }
    for (const char* unit : {"_nm", "_px", "_um"})
        if (text.size() > 3 && text.compare(text.size() - 3, 3, unit) == 0)
            return {text.substr(0, text.size() - 3), unit + 1, true};
    return {text, "", false};
}

bool is_pixels(const std::string& unit) { return unit == "px" || unit == "pix" || unit == "pixel" || unit == "pixels"; }

bool is_photons(std::string unit) {
    for (const char* per : {"/px", "/pixel", " per pixel"})
        if (unit.ends_with(per)) unit.resize(unit.size() - std::string_view(per).size());
    for (const char* known :
         {"", "photon", "photons", "photoelectron", "photoelectrons", "electron", "electrons", "e", "e-"})
        if (unit == known) return true;
    return false;
}

/// Sets scale and shift. Returns true if the pixel size was needed. A column without a unit is in nm.
bool convert(CsvColumn& column, Kind kind, const NameAndUnit& header, double pixel_size_nm, const std::string& file) {
    const auto refuse = [&](const char* what) {
        throw InputError(fmt::format("{}: the unit of column \"{}\" is not understood: {}", file, column.header, what));
    };
    if (kind == Kind::ignored || kind == Kind::plain || kind == Kind::photons) return false;
    const bool in_pixels = column.in_pixels = is_pixels(header.unit);
    const auto nm = in_pixels ? pixel_size_nm : nm_of_unit(header.unit.empty() ? "nm" : header.unit);
    if (!nm) refuse("lengths are read in nm, um, mm, cm, m, pm, A (angstrom) and px; convert and rename the column");
    if (kind == Kind::position && !header.suffixed) column.shift = -0.5;  // from the outer edge to the centre
    if (kind == Kind::depth) {
        column.scale = *nm;
        return in_pixels;
    }
    if (!in_pixels && pixel_size_nm > 0) column.scale = *nm / pixel_size_nm;
    return !in_pixels;
}

/// `cell`: a header of the file, or a name with a unit that the user gave for it.
CsvColumn describe(std::string_view cell, std::string_view in_file, double pixel_size_nm, const std::string& file,
                   CsvHeader& header) {
    CsvColumn column;
    column.header = std::string(in_file);
    const NameAndUnit parts = split_unit(cell);
    if (parts.name == "channel" || parts.name == "channel name") header.tell_apart.push_back(std::string(cell));
    for (const Known& known : known_columns()) {
        if (parts.name != known.spelling) continue;
        if (known.kind == Kind::photons && !is_photons(parts.unit)) {
            header.not_photons.push_back(column.header);
            break;
        }
        column.names = known.names;
        column.known = known.kind != Kind::ignored;
        header.needs_pixel_size |= convert(column, known.kind, parts, pixel_size_nm, file);
        if (known.kind == Kind::position) header.from_centre |= parts.suffixed;
        return column;
    }
    if (!cell.empty()) column.names = {std::string(cell)};  // pandas' index has no name
    return column;
}

bool all_numbers(const std::vector<std::string_view>& cells) {
    double value;
    return std::all_of(cells.begin(), cells.end(),
                       [&](std::string_view cell) { return !cell.empty() && parse_cell_with_comma(cell, value); });
}

/// Picasso's table exported as text, with its names and conventions.
CsvHeader picasso_header(const std::vector<std::string>& cells) {
    CsvHeader header;
    header.first_frame = 0;
    header.is_first_frame_known = header.from_centre = true;
    for (const std::string& cell : cells)
        header.columns.push_back({cell, {cell}, cell == "frame" || cell == "x" || cell == "y"});
    return header;
}

bool is_smap(const std::vector<std::string>& names) {
    const auto has = [&](const char* name) { return std::find(names.begin(), names.end(), name) != names.end(); };
    return has("frame") && has("xnm") && has("ynm") && (has("locprecnm") || has("filenumber"));
}

/// SMAP's table. A column whose name differs from the one in the file was named by the user.
CsvHeader smap_header(const std::vector<std::string>& names, const std::vector<std::string_view>& in_file,
                      double pixel_size_nm, const std::string& file) {
    CsvHeader header;
    header.first_frame = 1;
    header.is_first_frame_known = header.needs_pixel_size = true;
    header.tell_apart = header.idle = smap_tell_apart;
    const std::vector<SmapMeaning> meanings = smap_meanings(names);
    for (std::size_t k = 0; k < names.size(); ++k) {
        const SmapMeaning& meaning = meanings[k];
        if (names[k] != in_file[k]) {  // given by the user
            header.columns.push_back(describe(names[k], in_file[k], pixel_size_nm, file, header));
            continue;
        }
        CsvColumn column{names[k], meaning.names, meaning.known};
        const bool is_position = meaning.kind == SmapMeaning::position_x || meaning.kind == SmapMeaning::position_y;
        if (pixel_size_nm > 0 && (is_position || meaning.kind == SmapMeaning::lateral))
            column.scale = 1 / pixel_size_nm;
        if (is_position) column.shift = -1;
        if (column.names == std::vector<std::string>{""}) column.names.clear();
        header.columns.push_back(std::move(column));
    }
    return header;
}

/// Sets the number of the first frame, if the names show which program wrote them.
void recognise_program(const std::vector<std::string_view>& cells, CsvHeader& header) {
    std::vector<std::string> names;
    for (const std::string_view cell : cells) names.push_back(lower(cell));
    const auto has = [&](std::initializer_list<const char*> all) {
        return std::all_of(all.begin(), all.end(), [&](const char* name) {
            return std::find(names.begin(), names.end(), name) != names.end();
        });
    };
    const bool thunderstorm = has({"frame", "x [nm]", "y [nm]"}) &&
                              (has({"id"}) || has({"uncertainty [nm]"}) || has({"uncertainty_xy [nm]"}));
    const bool challenge = has({"frame", "xnano", "ynano"});
    const bool oni = has({"channel", "frame", "x (nm)", "y (nm)", "photons", "background"});
    const bool glint = has({"frame", "x_nm", "y_nm", "sx_nm", "sy_nm"});
    header.is_first_frame_known = thunderstorm || challenge || oni || glint;
    header.first_frame = oni || glint ? 0 : 1;
}

/// Lengths often occur in nm and in px; those in nm are kept.
void drop_pixels_beside_lengths(CsvHeader& header) {
    for (CsvColumn& column : header.columns) {
        const bool is_twice =
            column.in_pixels && std::any_of(header.columns.begin(), header.columns.end(), [&](const CsvColumn& other) {
                return other.known && !other.in_pixels && other.names == column.names;
            });
        if (is_twice) column.names.clear();
    }
}

/// A more precise column replaces a coarser one: sigma1 and sigma2 replace sigma; PSFynm replaces
/// PSFxnm along y.
void drop_sigma_beside_both(CsvHeader& header) {
    const auto fills = [&](std::vector<std::string> names) {
        return std::any_of(header.columns.begin(), header.columns.end(),
                           [&](const CsvColumn& column) { return column.names == names; });
    };
    const bool has_x = fills({"sx"}), has_y = fills({"sy"});
    for (CsvColumn& column : header.columns)
        if (has_y && column.names == std::vector<std::string>{"sx", "sy"})
            column.names = has_x ? std::vector<std::string>{} : std::vector<std::string>{"sx"};
}

/// Returns the header with the user's names and units. Skips columns that a column of the user's replaces, such as
/// "id".
std::vector<std::string> renamed(const std::vector<std::string_view>& cells,
                                 const std::map<std::string, std::string>& columns, const std::string& file) {
    std::vector<std::string> names(cells.begin(), cells.end());
    std::vector<bool> is_given(cells.size());
    for (const auto& [name, header] : columns) {
        const auto found = std::find(cells.begin(), cells.end(), header);
        if (found == cells.end())
            throw OptionError(fmt::format("{}: has no column \"{}\", which was given for {}: its columns are {}", file,
                                          header, name, fmt::join(cells, ", ")));
        const auto k = std::size_t(found - cells.begin());
        const NameAndUnit given = split_unit(name), own = split_unit(header);
        names[k] = given.unit.empty() && !own.unit.empty() ? fmt::format("{} [{}]", name, own.unit) : name;
        is_given[k] = true;
    }
    const auto meaning = [](const std::string& cell) {
        for (const Known& known : known_columns())
            if (split_unit(cell).name == known.spelling) return known.names;
        return std::vector{cell};
    };
    for (std::size_t k = 0; k < names.size(); ++k)
        for (std::size_t other = 0; other < names.size() && !is_given[k]; ++other)
            if (is_given[other] && meaning(names[k]) == meaning(names[other])) names[k] = "id";
    return names;
}

/// Returns the columns of a table without a header, whose first row is `cells`.
CsvHeader understand_numbers(const std::vector<std::string_view>& cells, double pixel_size_nm, const std::string& file,
                             const std::map<std::string, std::string>& columns) {
    static const std::vector<std::string_view> by_position = {"id", "frame", "x", "y", "z", "photons"};
    CsvHeader header;
    header.is_data = true;
    std::vector<std::string> numbers, names;
    for (std::size_t k = 0; k < cells.size(); ++k) numbers.push_back(std::to_string(k + 1));
    if (columns.empty()) {
        if (cells.size() < 4 || !is_whole_number(cells[0]) || !is_whole_number(cells[1]))
            throw InputError(fmt::format(
                "{}: there is no header, and the first row is not one of id, frame, x, y in nm (\"{}\"): say what "
                "the columns are by their numbers, as in {}",
                file,
                fmt::join(cells.begin(), cells.begin() + std::min<std::ptrdiff_t>(6, cells.end() - cells.begin()), ","),
                columns_by_number));
        for (std::size_t k = 0; k < cells.size(); ++k) {
            // Five columns leave open whether the fifth is z or the photons.
            const bool named = k < 4 || (cells.size() > 5 && k < 6);
            names.push_back(named ? std::string(by_position[k]) : "column " + numbers[k]);
        }
    } else {
        names = renamed({numbers.begin(), numbers.end()}, columns, file);
        for (std::size_t k = 0; k < names.size(); ++k)
            if (names[k] == numbers[k]) names[k] = "column " + numbers[k];
    }
    for (const std::string& name : names) header.columns.push_back(describe(name, name, pixel_size_nm, file, header));
    return header;
}

}  // namespace

CsvHeader understand_header(const std::vector<std::string_view>& cells, double pixel_size_nm, const std::string& file,
                            const std::map<std::string, std::string>& columns) {
    CsvHeader header;
    header.is_data = cells.size() >= 3 && all_numbers(cells);
    if (header.is_data) return understand_numbers(cells, pixel_size_nm, file, columns);
    const std::vector<std::string> names = renamed(cells, columns, file);
    if (std::find(cells.begin(), cells.end(), "lpx") != cells.end()) return picasso_header(names);
    if (is_smap(names)) return smap_header(names, cells, pixel_size_nm, file);
    for (std::size_t k = 0; k < cells.size(); ++k)
        header.columns.push_back(describe(names[k], cells[k], pixel_size_nm, file, header));
    if (std::find(names.begin(), names.end(), "frame") !=
        names.end())  // frame_ix, DECODE's name of the frame, is then an unknown column
        for (CsvColumn& column : header.columns)
            if (column.header == "frame_ix") column.names = {column.header}, column.known = false;
    recognise_program(cells, header);
    drop_sigma_beside_both(header);
    drop_pixels_beside_lengths(header);
    return header;
}

}  // namespace glint
