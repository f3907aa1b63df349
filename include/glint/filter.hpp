// Rows of a table chosen by conditions that are written as text (docs/filter.md).
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "glint/localizations.hpp"
#include "glint/progress.hpp"

namespace glint {

/// What one clause of the conditions does: `and` joins clauses, and so does giving several conditions.
struct FilterClause {
    std::string text;
    std::size_t fulfilled = 0;  ///< rows of the whole table that fulfil it
    std::size_t left = 0;       ///< rows that fulfil it and all clauses before it
};

struct Filtered {
    Localizations table;  ///< the rows that fulfil all conditions, in their order; the history has a step more
    std::vector<FilterClause> clauses;
};

/// The rows that fulfil all `conditions`, as in {"photons > 500 and lpx_nm < 20", "neighbors(50nm) >= 5"}: comparisons of any
/// columns, with arithmetic, `and`, `or`, `not`, percentile(), mode and neighbors(). Names are those of Picasso's files; a length's
/// may end in its unit, `_px`, `_nm` or `_um`. Percentiles, modes and neighbours are those of the whole table. Computed in double
/// precision by all threads; the result does not depend on their number. A comparison with NaN is false, `!=` included.
/// Throws OptionError, which points to the place in the text; Cancelled after `stop`.
Filtered filter(const Localizations& table, std::span<const std::string> conditions, const StopFlag* stop = nullptr);

/// Throws OptionError, as filter() does, for conditions that are not written correctly. Names of columns are not looked at.
void check_conditions(std::span<const std::string> conditions);

}  // namespace glint
