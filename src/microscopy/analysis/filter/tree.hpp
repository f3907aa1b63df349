// A condition as a tree of operations on columns.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analysis/filter/tokens.hpp"

namespace glint::conditions {

enum class Operation {
    // Numbers. A leaf has no operands.
    number,      ///< leaf
    column,      ///< leaf, by name
    neighbors,   ///< leaf: number of other rows within `number` of `unit`
    percentile,  ///< of the operand over the whole table, `number` from 0 to 100
    mode,        ///< of the operand over the whole table
    negative,
    absolute,
    square_root,
    logarithm,  ///< natural
    smallest,   ///< of two operands or more
    largest,
    plus,
    minus,
    times,
    over,
    power,
    // Conditions: 1 if they hold, else 0.
    less,
    less_equal,
    greater,
    greater_equal,
    equal,
    not_equal,
    all_of,  ///< of two operands or more
    any_of,
    negation,
};
inline bool is_condition(Operation operation) { return operation >= Operation::less; }

struct Node {
    Operation operation = Operation::number;
    TextRange place;
    std::vector<Node> operands;
    double number = 0;
    std::string name;  ///< of a column; for neighbors, the unit of the distance
    int height = 0;    ///< levels below
};

/// Returns the clauses of a condition, which are joined by `and`. Throws OptionError, which points to the place.
std::vector<Node> parse(std::string_view text);

}  // namespace glint::conditions
