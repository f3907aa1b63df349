// Text tables of other programs: how their lines and columns differ from a CSV's.
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "io/localization_formats.hpp"

namespace glint {

/// A format's description of its table for the CSV reader.
struct TextLayout {
    char separator = ',';                        ///< ' ': runs of blanks
    std::vector<std::string> headers;            ///< one per column, as in the file
    std::size_t header_lines = 1;                ///< before the first row
    std::map<std::string, std::string> columns;  ///< as TextConventions::columns; the user's take precedence
    std::map<std::string, double> factors;       ///< by header: factors to apply before the unit of the values
    std::vector<std::string> left_out;           ///< headers of columns that are skipped
    std::string labels;          ///< header of a column of words, which are numbered in the order of their first rows
    bool ends_at_blank = false;  ///< the table ends at an empty line; later lines are not rows
    bool from_centre = false;    ///< positions are measured from the first pixel's centre, not from its outer edge
    int first_frame = 1;
    std::vector<std::string> tell_apart, idle;  ///< as in TableFile
    Localizations about;                        ///< see TableFile; a pixel size in it replaces the user's
};

OpenTable open_text(const std::filesystem::path& path, double pixel_size_nm, const Warn& warn,
                    const TextConventions& text, TextLayout layout);

/// Returns the first line of a text, without a byte order mark; at most 1 MiB of it. Empty if the file is empty.
std::string first_line(const std::filesystem::path& path);
/// The line's cells.
std::vector<std::string> cells_of(const std::string& line, char separator);
/// Leaves out the column that `layout.columns` calls `name` if all its numbers are 0, as the depths in 2D tables
/// are. Reads rows up to the first other number.
void leave_out_empty_depths(const std::filesystem::path& path, TextLayout& layout, const std::string& name);
/// Warns that the program's documentation does not define the origin of positions.
void warn_of_origin(const std::filesystem::path& path, const char* program, const Warn& warn);

}  // namespace glint
