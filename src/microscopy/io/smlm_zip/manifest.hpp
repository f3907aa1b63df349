// Names that the reader and the writer of .smlm files share.
// SPDX-License-Identifier: MIT
#pragma once

#include <iterator>
#include <string_view>

namespace glint {

inline constexpr const char* smlm_manifest_name = "manifest.json";
/// The facts that only glint's manifests contain: the movie, the history, and which columns are whole numbers.
inline constexpr const char* smlm_own_key = "glint";

/// A column as glint writes it. Frames count from 1, and positions from the first pixel's outer edge.
struct SmlmField {
    std::string_view header, unit;
    std::string_view name;      ///< of Localizations
    bool is_in_pixels = false;  ///< in Localizations; nm in the file
    bool is_position = false;   ///< measured from the outer edge, not from the centre
};
inline constexpr SmlmField smlm_fields[] = {
    {"x", "nm", "x", true, true},
    {"y", "nm", "y", true, true},
    {"z", "nm", "z"},
    {"intensity", "photon", "photons"},
    {"background", "photon", "bg"},
    {"x_precision", "nm", "lpx", true},
    {"y_precision", "nm", "lpy", true},
    {"z_precision", "nm", "lpz"},
    {"sx", "nm", "sx", true},
    {"sy", "nm", "sy", true},
    {"sx_unc", "nm", "sx_unc", true},
    {"sy_unc", "nm", "sy_unc", true},
    {"photons_unc", "photon", "photons_unc"},
    {"bg_unc", "photon", "bg_unc"},
};

/// Returns a field by one of its names; null if there is none. Columns that are not in the list have the same name in
/// both.
inline const SmlmField* smlm_field(std::string_view text, std::string_view SmlmField::*by) {
    for (const SmlmField& field : smlm_fields)
        if (field.*by == text) return &field;
    return nullptr;
}

}  // namespace glint
