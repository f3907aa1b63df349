// The formats of tables of localizations, in the order in which a file is compared with them. Each is defined in
// its own file: NAME_tables(). thunderstorm accepts any text with a header, and is therefore the last.
// SPDX-License-Identifier: MIT
#include "io/localization_formats.hpp"

namespace glint {

// clang-format off
#define GLINT_TABLE_FORMATS(X) \
    X(picasso) \
    X(smlm_analysis) \
    X(smap) \
    X(decode) \
    X(storm_analysis) \
    X(smlm_zip) \
    X(rapidstorm) \
    X(elyra) \
    X(nstorm) \
    X(insight3) \
    X(tsf) \
    X(pyme) \
    X(minflux) \
    X(all_columns) \
    X(smap_csv) \
    X(thunderstorm)
// clang-format on

#define GLINT_DECLARE(name) TableFormat name##_tables();
GLINT_TABLE_FORMATS(GLINT_DECLARE)
#undef GLINT_DECLARE

const std::vector<TableFormat>& table_formats() {
#define GLINT_CALL(name) name##_tables(),
    static const std::vector<TableFormat> formats{GLINT_TABLE_FORMATS(GLINT_CALL)};
#undef GLINT_CALL
    return formats;
}

}  // namespace glint
