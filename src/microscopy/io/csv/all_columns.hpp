// glint's own CSV, which holds every column of a table and what is known of its movie.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "glint/localizations.hpp"
#include "io/csv/columns.hpp"

namespace glint {

/// Whether a file's first line is that of glint's own CSV.
bool begins_all_columns(std::string_view first_line);

/// Adds what a comment says of the movie, or one step of its history, to `about`; leaves `about` alone for other lines.
void add_comment(std::string_view line, Localizations& about);

/// Understands a header such as "frame","x [px]","z [nm]","track". Values are as in Localizations: in px and nm, frames
/// from 0, the first pixel's centre at 0.
CsvHeader header_of_all_columns(const std::vector<std::string_view>& cells);

}  // namespace glint
