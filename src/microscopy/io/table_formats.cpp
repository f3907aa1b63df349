// The formats of tables of localizations, as table_formats.inc lists them.
// SPDX-License-Identifier: MIT
#include "io/localization_formats.hpp"

namespace glint {

#define GLINT_TABLE_FORMAT(name) TableFormat name##_tables();
#include "io/table_formats.inc"
#undef GLINT_TABLE_FORMAT

const std::vector<TableFormat>& table_formats() {
#define GLINT_TABLE_FORMAT(name) name##_tables(),
    static const std::vector<TableFormat> formats{
#include "io/table_formats.inc"
    };
#undef GLINT_TABLE_FORMAT
    return formats;
}

}  // namespace glint
