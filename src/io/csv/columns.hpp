// What the header of a CSV of localizations calls its columns, in which units, from which origin.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace glint {

/// One column of the file and the columns of the table that it fills (none: it is passed over).
struct CsvColumn {
    std::string header;              ///< as in the file
    std::vector<std::string> names;  ///< Picasso's names, or the header itself for an unknown column
    bool known = false;              ///< a value that is not a number is an error, not a reason to drop the column
    double scale = 1, shift = 0;     ///< table's value = file's value * scale + shift
};

struct CsvHeader {
    std::vector<CsvColumn> columns;
    bool frames_from_one = true;
    bool needs_pixel_size = false;  ///< lengths are in nm, which the table wants in px
    bool is_data = false;           ///< the line was no header but the first row: id, frame, x, y, (z, photons)
};

/// Understands ThunderSTORM ("x [nm]"), truth files ("x (nm)", "xnano"), glint's ("x_nm": frames from 0, 0 nm
/// is the first pixel's centre) and Picasso's own names (in px, frames from 0). Throws InputError, naming `file` and
/// the column, for a unit that is no length where one is required, or not photons.
CsvHeader understand_header(const std::vector<std::string_view>& cells, double pixel_size_nm, const std::string& file);

}  // namespace glint
