// Units of length as files write them.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <optional>
#include <string_view>

namespace glint {

/// Nanometres in one of `unit`, as ImageJ, OME, ThunderSTORM and people write it; nothing for other words.
inline std::optional<double> nm_of_unit(std::string_view unit) {
    struct Known {
        std::string_view name;
        double nm;
    };
    // The micro sign is written in UTF-8 (two code points look alike), in Latin-1, or escaped as ImageJ does; so is
    // that of the angstrom.
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

}  // namespace glint
