// Rows of a table chosen by conditions that are written as text (docs/reference/filter.md).
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "glint/localizations.hpp"
#include "glint/progress.hpp"
#include "glint/table_pieces.hpp"

namespace glint {

/// The effect of one clause. Clauses are the operands of `and`; several conditions are joined by `and`, too.
struct FilterClause {
    std::string text;
    std::size_t fulfilled = 0;  ///< rows of the whole table that fulfil it
    std::size_t left = 0;       ///< rows that fulfil it and all clauses before it
};

struct Filtered {
    Localizations table;  ///< the rows that fulfil all conditions, in their order; the history has a step more
    std::vector<FilterClause> clauses;
};

/// Returns the rows that fulfil all `conditions`, for example
/// {"photons > 500 and lpx_nm < 20", "neighbors(50nm) >= 5"}.
/// Conditions are comparisons of any columns, with arithmetic, `and`, `or`, `not`, percentile(), mode and neighbors().
/// Names are those of Picasso's files; the name of a length may end in its unit, `_px`, `_nm` or `_um`. Percentiles,
/// modes and neighbours are those of the whole table. Computed in double precision by all threads; the result does not
/// depend on their number. A comparison with NaN is false, `!=` included.
/// Throws OptionError, which points to the place in the text; Cancelled after `stop`.
Filtered filter(const Localizations& table, std::span<const std::string> conditions, const StopFlag* stop = nullptr);

/// filter() for a table in pieces; a view of `table`. Visits the table once for all clauses, and once more for each
/// percentile, mode and neighbors(). Needs a byte a row; during construction another 8 a row for a percentile or mode,
/// and 36 for neighbors().
class FilteredTable final : public TablePieces {
  public:
    FilteredTable(TablePieces& table, std::span<const std::string> conditions, const StopFlag* stop = nullptr);
    const Localizations& like() const override { return like_; }
    void for_each(const Visit& visit) override;
    Localizations example() const override;

    const std::vector<FilterClause>& clauses() const { return clauses_; }
    std::size_t rows_before() const { return is_left_.size(); }
    std::size_t rows() const { return clauses_.back().left; }

  private:
    friend Filtered filter(const Localizations&, std::span<const std::string>, const StopFlag*);
    Localizations left_of(const Localizations& piece, std::size_t before) const;

    TablePieces& table_;
    std::vector<FilterClause> clauses_;
    std::vector<std::uint8_t> is_left_;  ///< by row of `table`
    Localizations like_;
};

/// Throws OptionError, as filter() does, if a condition has a syntax error. Does not check the names of columns.
void check_conditions(std::span<const std::string> conditions);

}  // namespace glint
