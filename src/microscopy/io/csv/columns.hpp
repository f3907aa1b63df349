// The header of a CSV of localizations: names, units and origins of its columns.
// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "glint/localizations.hpp"

namespace glint {

/// One column of the file and the columns of the table that it fills. If it fills none, it is skipped.
struct CsvColumn {
    std::string header;              ///< as in the file
    std::vector<std::string> names;  ///< Picasso's names, or the header itself for an unknown column
    bool known = false;              ///< a value that is not a number is an error, not a reason to drop the column
    double scale = 1, shift = 0;     ///< table's value = file's value * scale + shift
    bool in_pixels = false;          ///< a length in camera pixels
    bool is_label = false;           ///< its cells are words, which are numbered
    bool is_variance = false;        ///< the table contains its square root
};

/// Advice on how to name the columns of a table without a header.
constexpr const char* columns_by_number =
    "`column=frame=1` `column=x [nm]=2` `column=y [nm]=3`, or write a header as the first line";

struct CsvHeader {
    std::vector<CsvColumn> columns;
    int first_frame = 1;
    bool is_first_frame_known = false;  ///< by the program that writes such headers
    bool needs_pixel_size = false;      ///< lengths are in nm, and the table needs them in px
    bool is_data = false;               ///< the line was not a header but the first row
    bool from_centre = false;  ///< positions are measured from the first pixel's centre, not from its outer edge
    std::vector<std::string> not_photons;  ///< "intensity [au]": columns that are kept under their headers
    std::vector<std::string> tell_apart;   ///< columns that distinguish channels
    std::vector<std::string> idle;         ///< columns whose absence means the same as one value in all rows
};

/// Parses the header of these tables:
/// - ThunderSTORM ("x [nm]")
/// - truth files ("x (nm)", "xnano"), tables of ONI and SMAP
/// - glint's truth ("x_nm": frames from 0, 0 nm is the first pixel's centre)
/// - Picasso's own names (px, frames from 0)
/// `columns` maps other names, as TextConventions::columns. Columns of a table without a header are called by their
/// numbers from 1. Such a table is read as id, frame, x, y, (z, photons) if `columns` is empty and ids and frames
/// are whole numbers.
/// Throws InputError, naming `file` and the column, if a required unit is no length. Throws OptionError for a name
/// in `columns` that is not in the header.
CsvHeader understand_header(const std::vector<std::string_view>& cells, double pixel_size_nm, const std::string& file,
                            const std::map<std::string, std::string>& columns = {});

/// Returns true if a file's first line is that of glint's own CSV, which contains every column of a table and the facts
/// about its movie.
bool begins_all_columns(std::string_view first_line);

/// Adds a comment's fact about the movie, or its step of the history, to `about`. Ignores other lines.
void add_comment(std::string_view line, Localizations& about);

/// Understands a header such as "frame","x [px]","z [nm]","track". Values are as in Localizations: in px and nm, frames
/// from 0, the first pixel's centre at 0.
CsvHeader header_of_all_columns(const std::vector<std::string_view>& cells);

}  // namespace glint
