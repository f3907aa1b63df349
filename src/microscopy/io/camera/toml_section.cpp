// TOML with errors that point at the place and name the nearest key.
// SPDX-License-Identifier: MIT
#include "io/camera/toml_section.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <fstream>
#include <iterator>
#include <optional>

#include "glint/error.hpp"
#include "io/files/input_file.hpp"

namespace glint {
namespace {

std::optional<TomlKind> kind_by_keys(const toml::table& table) {
    if (table["astigmatism"].is_table() || table["table"].is_table()) return TomlKind::calibration;
    for (const char* section : {"camera", "psf", "movie", "localize", "filter", "drift", "resolution", "link",
                                "molecules", "render", "figures"})
        if (table[section].is_table()) return TomlKind::recipe;
    for (const char* key :
         {"offset", "gain", "readnoise", "readvar", "em_gain", "maps", "pixel_size", "qe", "kind", "sensor_roi"})
        if (table.contains(key) && !table[key].is_table()) return TomlKind::camera;
    return std::nullopt;
}

const char* to_name(TomlKind kind) {
    return kind == TomlKind::camera ? "a camera" : kind == TomlKind::calibration ? "a calibration" : "a recipe";
}

const char* way_out(TomlKind kind) {
    return kind == TomlKind::camera        ? "`camera=FILE`"
           : kind == TomlKind::calibration ? "`calibration=FILE`"
                                           : "`recipe=FILE`";
}

namespace fs = std::filesystem;
constexpr std::uintmax_t largest_file_bytes = 1 << 20;
constexpr int max_dots = 32;

std::string place(const fs::path& path, const toml::source_region& source) {
    return fmt::format("{}:{}:{}", path.string(), source.begin.line, source.begin.column);
}

/// Returns true if a key has too many dots. The parser is recursive and nests a table for every dot, but limits only
/// the nesting of values.
bool has_endless_key(std::string_view text) {
    int dots = 0;
    for (std::size_t k = 0; k < text.size(); ++k) {
        const bool new_line = k == 0 || text[k - 1] == '\n';
        if (new_line && text[k] == '#') k = std::min(text.find('\n', k), text.size() - 1);
        if (std::string_view("\n,=[]{}").find(text[k]) != std::string_view::npos) dots = 0;
        if (text[k] == '.' && ++dots > max_dots) return true;
    }
    return false;
}

/// Number of letters to insert, delete or change.
std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t changed = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            row[j] = std::min({row[j] + 1, row[j - 1] + 1, changed});
        }
    }
    return row[b.size()];
}

std::string suggestion(std::string_view key, const std::vector<std::string_view>& known) {
    const std::string_view start = key.substr(0, 60);  // a longer key resembles no known one
    const auto nearest = std::min_element(known.begin(), known.end(), [&](std::string_view a, std::string_view b) {
        return edit_distance(start, a) < edit_distance(start, b);
    });
    if (edit_distance(start, *nearest) <= std::max<std::size_t>(2, nearest->size() / 3))
        return fmt::format("did you mean {}?", *nearest);
    return fmt::format("there are {}", fmt::join(known, ", "));
}

}  // namespace

void require_toml_kind(const toml::table& table, const std::filesystem::path& path, TomlKind wanted) {
    const std::optional<TomlKind> kind = kind_by_keys(table);
    if (wanted == TomlKind::camera && table.size() == 1 && table["camera"].is_table())
        throw InputError(fmt::format(
            "{} has a header [camera], as in recipes of glint run: leave this line out, a camera's keys need none",
            path.string()));
    if (kind && *kind != wanted)
        throw InputError(fmt::format("{} is {} and not {}: give it with {}", path.string(), to_name(*kind),
                                     to_name(wanted), way_out(*kind)));
}

toml::table parse_toml(const fs::path& path) {
    std::error_code failed;
    if (!fs::exists(path, failed)) throw InputError(fmt::format("{} does not exist", path.string()));
    if (!fs::is_regular_file(path, failed)) throw InputError(fmt::format("{} is not a file", path.string()));
    if (const std::uintmax_t bytes = fs::file_size(path, failed); bytes > largest_file_bytes)
        throw InputError(
            fmt::format("{} has {} bytes: this is no such file (limit {})", path.string(), bytes, largest_file_bytes));
    std::ifstream in(path, std::ios::binary);
    if (!in) throw_cannot_open(path.string(), errno);
    return parse_toml(std::string(std::istreambuf_iterator<char>(in), {}), path);
}

toml::table parse_toml(std::string_view text, const fs::path& name) {
    if (text.starts_with("\x89HDF") || text.starts_with("\x93NUMPY") || text.starts_with(std::string_view("II*\0", 4)))
        throw InputError(fmt::format(
            "{} holds arrays, and is no TOML: a camera is described in camera.toml, which names the files of "
            "its maps (docs/reference/formats.md)",
            name.string()));
    if (has_endless_key(text))
        throw InputError(
            fmt::format("{} has more than {} dots in a row without a comma or bracket: keys do not nest that "
                        "deep, and remarks of dots are to have a # at the start of their line",
                        name.string(), max_dots));
    try {
        return toml::parse(text, name.string());
    } catch (const toml::parse_error& error) {
        throw InputError(fmt::format("{}: {}", place(name, error.source()), error.description()));
    }
}

TomlSection::TomlSection(const toml::table& table, fs::path path, const std::vector<std::string_view>& known)
    : table_(table), path_(std::move(path)) {
    for (const auto& [key, value] : table_)
        if (std::find(known.begin(), known.end(), std::string_view(key)) == known.end())
            throw InputError(fmt::format("{}: no key {} is known: {}", place(path_, key.source()),
                                         std::string_view(key).substr(0, 60), suggestion(key, known)));
}

void TomlSection::refuse(std::string_view key, const std::string& why) const {
    const toml::node* node = table_.get(key);
    throw InputError(fmt::format("{}: {} {}", place(path_, node ? node->source() : table_.source()), key, why));
}

std::optional<double> TomlSection::number(std::string_view key, double low, double high) const {
    if (!has(key)) return {};
    const toml::node& node = *table_.get(key);
    if (!node.is_number()) refuse(key, fmt::format("must be a number, as in {} = 1.5", key));
    const double value = node.is_integer() ? double(*node.value<std::int64_t>()) : *node.value<double>();
    if (!(value >= low && value <= high)) refuse(key, fmt::format("is {}, outside {} to {}", value, low, high));
    return value;
}

double TomlSection::required_number(std::string_view key, double low, double high) const {
    const auto value = number(key, low, high);
    if (!value) refuse(key, "is missing");
    return *value;
}

std::optional<std::pair<double, double>> TomlSection::range(std::string_view key, double low, double high) const {
    if (!has(key)) return {};
    const toml::array* array = table_.get(key)->as_array();
    std::vector<double> ends;
    if (const auto one = table_.get(key)->value<double>())
        ends = {*one, *one};
    else if (array)
        for (const toml::node& node : *array)
            if (const auto end = node.value<double>()) ends.push_back(*end);
    if (ends.size() != 2 || (array && array->size() != 2))
        refuse(key, fmt::format("must be a number, or two in brackets, as in {} = [1, 8]", key));
    for (const double end : ends)
        if (!(end >= low && end <= high)) refuse(key, fmt::format("has {}, outside {} to {}", end, low, high));
    if (ends[0] > ends[1])
        refuse(key, fmt::format("goes from {} down to {}: the smaller one is first", ends[0], ends[1]));
    return std::pair(ends[0], ends[1]);
}

std::optional<bool> TomlSection::yes_or_no(std::string_view key) const {
    if (!has(key)) return {};
    const auto* value = table_.get(key)->as_boolean();
    if (!value) refuse(key, "must be true or false");
    return value->get();
}

std::optional<std::string> TomlSection::text(std::string_view key) const {
    if (!has(key)) return {};
    const auto value = table_.get(key)->value<std::string>();
    if (!value) refuse(key, fmt::format("must be a text in quotes, as in {} = \"...\"", key));
    return value;
}

std::vector<std::string> TomlSection::texts(std::string_view key) const {
    if (!has(key)) return {};
    const toml::array* array = table_.get(key)->as_array();
    std::vector<std::string> values;
    if (array)
        for (const toml::node& node : *array)
            if (const auto* text = node.as_string()) values.push_back(text->get());
    if (!array || array->size() != values.size())
        refuse(key, fmt::format("must be texts in quotes, in brackets, as in {} = [\"...\", \"...\"]", key));
    return values;
}

std::optional<std::vector<std::int64_t>> TomlSection::integers(std::string_view key, std::size_t count,
                                                               std::int64_t low, std::int64_t high) const {
    if (!has(key)) return {};
    const toml::array* array = table_.get(key)->as_array();
    std::vector<std::int64_t> values;
    if (array)
        for (const toml::node& node : *array)
            if (const auto* integer = node.as_integer()) values.push_back(integer->get());
    const bool in_range = std::all_of(values.begin(), values.end(), [&](auto v) { return v >= low && v <= high; });
    if (!array || array->size() != count || values.size() != count || !in_range)
        refuse(key, fmt::format("must be {} whole numbers from {} to {} in brackets, as in {} = [128, 256]", count, low,
                                high, key));
    return values;
}

}  // namespace glint
