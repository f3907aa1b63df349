// Writes a CSV as SMAP exports it, with SMAP's names: xnm, ynm, frame, locprecnm, ...
// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include "io/localization_formats.hpp"

#include "glint/error.hpp"
#include "io/csv/cells.hpp"
#include "io/smap/columns.hpp"

namespace glint {

std::vector<std::string> left_out_of_smap(const Localizations& like) {
    std::vector<std::string> names;
    (void)smap_columns(like, &names);
    return names;
}

FormatWriter write_smap_csv(const std::filesystem::path& path, const Localizations& like, const Target& target) {
    if (!(like.pixel_size_nm > 0))
        throw OptionError(fmt::format(
            "{} is in nanometres, so the pixel size must be known: give it, as in `written_pixel_size=100nm`",
            path.string()));
    std::vector<CellColumn> cells;
    for (SmapColumn& column : smap_columns(like)) {
        const CellColumn::Kind kind = column.number == SmapColumn::whole ? CellColumn::whole
                                      : column.is_copied                 ? CellColumn::copied
                                                                         : CellColumn::measured;
        cells.push_back({column.name, kind, std::move(column.value)});
    }
    return write_cells(path, std::move(cells), "", target);
}

/// For reading, the CSV reader recognises the columns.
TableFormat smap_csv_tables() {
    return {.name = "SMAP CSV",
            .endings = {".smap.csv"},
            .is =
                [](const TableContent& content) {
                    const std::string_view header = content.beginning.substr(0, content.beginning.find('\n'));
                    return header.find("xnm") != header.npos && header.find("frame") != header.npos;
                },
            .open = open_csv,
            .write = [](const std::filesystem::path& path, const Localizations& like, std::size_t,
                        const Target& target) { return write_smap_csv(path, like, target); },
            .left_out = left_out_of_smap,
            .cannot_hold = "as SMAP; settings"};
}

}  // namespace glint
