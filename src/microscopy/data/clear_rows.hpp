// A table without its rows, whose columns keep their memory.
// SPDX-License-Identifier: MIT
#pragma once

#include "glint/localizations.hpp"

namespace glint {

/// Not a new table: the system would clear the pages of each.
inline void clear_rows(Localizations& table) {
    for (const LocalizationColumn& column : localization_columns()) (table.*column.values).clear();
    table.frame.clear(), table.iterations.clear(), table.status.clear();
    for (auto& [name, column] : table.extra) column.values.clear();
}

}  // namespace glint
