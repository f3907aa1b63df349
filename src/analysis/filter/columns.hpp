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

/// A column's values in the unit that was asked for; a view into a table.
struct Column {
    std::variant<const std::vector<float>*, const std::vector<double>*, const std::vector<std::uint32_t>*,
                 const std::vector<std::uint8_t>*>
        values;
    double scale = 1;

    /// Rows [first, first + to.size()).
    void copy(std::size_t first, std::span<double> to) const;
};

/// `name` is the column's in Picasso's files; that of a length may end in _px, _nm or _um. Throws OptionError, pointing to
/// `place` of `text`, for a name that the table does not have, with those that it has.
Column find_column(const Localizations& table, const std::string& name, std::string_view text, Place place);

/// A length in camera pixels. Throws OptionError where that needs a pixel size that the table does not have.
double in_pixels(double length, const std::string& unit, const Localizations& table, std::string_view text,
                 Place place);

}  // namespace glint::conditions
