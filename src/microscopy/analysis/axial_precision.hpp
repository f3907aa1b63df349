// Whether a table says how precise its z is.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>

#include "glint/localizations.hpp"

namespace glint {

/// Whether lpz is there and above 0 in any row. Tables of ThunderSTORM, and of Picasso before it wrote lpz, have z alone.
inline bool has_axial_precision(const Localizations& table) {
    return table.lpz_nm.size() == table.size() &&
           std::any_of(table.lpz_nm.begin(), table.lpz_nm.end(), [](float precision) { return precision > 0; });
}

}  // namespace glint
