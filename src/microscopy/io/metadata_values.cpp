// Units as ImageJ, OME, ThunderSTORM and people write them; pixels that are square, or of unknown size.
// SPDX-License-Identifier: MIT
#include "io/metadata_values.hpp"

#include <fmt/format.h>

#include <array>

#include "glint/units.hpp"

namespace glint {

std::optional<double> nm_of_unit(std::string_view unit) {
    struct Known {
        std::string_view name;
        double nm;
    };
    // The micro sign and the angstrom's are written in UTF-8 (two code points look the same), in Latin-1, or
    // escaped as ImageJ does.
    static constexpr std::array<Known, 29> known{{{"nm", 1},
                                                  {"nanometer", 1},
                                                  {"nanometers", 1},
                                                  {"nanometre", 1},
                                                  {"nanometres", 1},
                                                  {"um", 1e3},
                                                  {"micron", 1e3},
                                                  {"microns", 1e3},
                                                  {"micrometer", 1e3},
                                                  {"micrometers", 1e3},
                                                  {"micrometre", 1e3},
                                                  {"micrometres", 1e3},
                                                  {"\xc2\xb5m", 1e3},
                                                  {"\xce\xbcm", 1e3},
                                                  {"\xb5m", 1e3},
                                                  {"\\u00B5m", 1e3},
                                                  {"\\u00b5m", 1e3},
                                                  {"mm", 1e6},
                                                  {"cm", 1e7},
                                                  {"m", 1e9},
                                                  {"pm", 1e-3},
                                                  {"A", 0.1},
                                                  {"a", 0.1},
                                                  {"angstrom", 0.1},
                                                  {"\xc3\x85", 0.1},
                                                  {"\xc3\xa5", 0.1},
                                                  {"\xe2\x84\xab", 0.1},
                                                  {"\xc5", 0.1},
                                                  {"\xe5", 0.1}}};
    for (const Known& one : known)
        if (one.name == unit) return one.nm;
    return std::nullopt;
}

void set_pixel_size(double width_nm, double height_nm, MovieInfo& info) {
    const auto is_plausible = [](double nm) { return nm >= smallest_pixel_nm && nm <= largest_pixel_nm; };
    if (!is_plausible(width_nm) || !is_plausible(height_nm)) return;
    if (std::abs(width_nm - height_nm) <= 0.001 * width_nm)
        info.pixel_size_nm = width_nm;
    else
        info.warnings.push_back(
            fmt::format("{}: the metadata say pixels of {:.4g} by {:.4g} nm, which are not square: give `pixel_size`",
                        info.name, width_nm, height_nm));
}

}  // namespace glint
