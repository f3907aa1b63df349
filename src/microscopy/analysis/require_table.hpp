// What an analysis requires of a table.
// SPDX-License-Identifier: MIT
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "data/table_facts.hpp"
#include "glint/error.hpp"
#include "glint/localizations.hpp"

namespace glint {

/// Throws OptionError unless the table has a pixel size and one position for each row.
inline void require_positions(const Localizations& table) {
    if (!(table.pixel_size_nm > 0 && std::isfinite(table.pixel_size_nm)))
        throw OptionError("the localizations have no pixel size, but distances are in nm: `written_pixel_size=100nm`");
    if (table.x_px.size() != table.size() || table.y_px.size() != table.size())
        throw OptionError(fmt::format("the localizations have {} frames, but {} values of x and {} of y", table.size(),
                                      table.x_px.size(), table.y_px.size()));
}

/// Throws InputError if the rows are molecules with mean frames. `what` names the analysis, such as "drift".
inline void require_whole_frames(const Localizations& table, const char* what) {
    if (!table.extra.contains(mean_frame_column)) return;
    throw InputError(
        fmt::format("the rows are molecules with mean frames (column {}), but {} needs the frame of each localization: "
                    "give the table of localizations from which the molecules were made",
                    mean_frame_column, what));
}

/// Returns whether lpz is above 0 in any row. Tables of ThunderSTORM, and of Picasso before it wrote lpz, contain only
/// z.
inline bool has_axial_precision(const Localizations& table) {
    return table.lpz_nm.size() == table.size() &&
           std::any_of(table.lpz_nm.begin(), table.lpz_nm.end(), [](float precision) { return precision > 0; });
}

}  // namespace glint
