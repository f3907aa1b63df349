// Tells a TOML file by the names of its sections and keys.
// SPDX-License-Identifier: MIT
#include "io/camera/toml_kind.hpp"

#include <fmt/format.h>

#include <optional>

#include "glint/error.hpp"

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

const char* name_of(TomlKind kind) {
    return kind == TomlKind::camera ? "a camera" : kind == TomlKind::calibration ? "a calibration" : "a recipe";
}

const char* way_out(TomlKind kind) {
    return kind == TomlKind::camera        ? "`camera=FILE`"
           : kind == TomlKind::calibration ? "`calibration=FILE`"
                                           : "`recipe=FILE`";
}

}  // namespace

void require_toml_kind(const toml::table& table, const std::filesystem::path& path, TomlKind wanted) {
    const std::optional<TomlKind> kind = kind_by_keys(table);
    if (wanted == TomlKind::camera && table.size() == 1 && table["camera"].is_table())
        throw InputError(fmt::format(
            "{} has a header [camera], as in recipes of glint run: leave this line out, a camera's keys need none",
            path.string()));
    if (kind && *kind != wanted)
        throw InputError(fmt::format("{} is {} and not {}: give it with {}", path.string(), name_of(*kind),
                                     name_of(wanted), way_out(*kind)));
}

}  // namespace glint
