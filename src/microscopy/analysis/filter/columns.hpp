// The columns that conditions name, with their units.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "analysis/filter/tokens.hpp"
#include "glint/localizations.hpp"

namespace glint::conditions {

/// A column, and the factor to its unit.
struct Column {
    std::variant<std::vector<float> Localizations::*, std::vector<std::uint32_t> Localizations::*,
                 std::vector<std::uint8_t> Localizations::*, std::string>
        values;  ///< std::string: the name of an extra column
    double scale = 1;

    /// Copies the rows [first, first + to.size()) of a table that contains the column.
    void copy(const Localizations& table, std::size_t first, std::span<double> to) const;
};

/// Finds a column by its name in Picasso's files. The name of a length may end in _px, _nm or _um. Throws OptionError
/// if the table lacks the column. The message points to `place` of `text` and lists the table's columns.
Column find_column(const Localizations& table, const std::string& name, std::string_view text, TextRange place);

/// Returns a length in camera pixels. Throws OptionError if that needs the pixel size and the table has none.
double in_pixels(double length, const std::string& unit, const Localizations& table, std::string_view text,
                 TextRange place);

}  // namespace glint::conditions
