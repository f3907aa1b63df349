// Writes tables as comma-separated text: a header, then one line per row, formatted by several threads.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "io/files/atomic_file.hpp"
#include "io/localization_formats.hpp"

namespace glint {

/// One column of a text table.
struct CellColumn {
    enum Kind {
        whole,     ///< an integer
        measured,  ///< a float column of Localizations; NaN and infinity, which readers reject, become 0
        copied     ///< a double of an earlier file; NaN and infinity are kept, and 3 is "3.0"
    };
    std::string header;
    Kind kind = measured;
    std::function<double(const Localizations&, std::size_t row)> value;
};

/// Appends a cell in quotes, with its own quotes doubled and line ends replaced by blanks.
void append_quoted(const std::string& cell, std::string& to);

/// Returns true if a header is unchanged after writing and reading: not empty, no line ends, no blanks at its ends.
bool survives_as_header(const std::string& name);

/// Writes `columns`. `first_lines`: whole lines in front of the header, comments for example.
FormatWriter write_cells(const std::filesystem::path& path, std::vector<CellColumn> columns,
                         const std::string& first_lines, const Target& target);

/// Returns a column of `like.extra` under its name.
CellColumn copied_column(const Localizations& like, const std::string& name);

}  // namespace glint
