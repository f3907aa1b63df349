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

/// Which column, and in which unit.
struct Column {
    std::variant<std::vector<float> Localizations::*, std::vector<std::uint32_t> Localizations::*,
                 std::vector<std::uint8_t> Localizations::*, std::string>
        values;  ///< the last: an extra one's name
    double scale = 1;

    /// Its rows [first, first + to.size()) of a table that has it.
    void copy(const Localizations& table, std::size_t first, std::span<double> to) const;
};

/// `name` is the column's in Picasso's files; that of a length may end in _px, _nm or _um. Throws OptionError, pointing to
/// `place` of `text`, for a name that the table does not have, with those that it has.
Column find_column(const Localizations& table, const std::string& name, std::string_view text, TextRange place);

/// A length in camera pixels. Throws OptionError where that needs a pixel size that the table does not have.
double in_pixels(double length, const std::string& unit, const Localizations& table, std::string_view text,
                 TextRange place);

}  // namespace glint::conditions
