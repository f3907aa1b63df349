// Rows of a table chosen by conditions that are written as text (docs/reference/filter.md).
//
//     const std::vector<std::string> conditions = {"photons > 500 and lpx_nm < 20", "neighbors(50nm) >= 5"};
//     const glint::Filtered good = glint::filter(table, conditions);
//     for (const glint::FilterClause& clause : good.clauses)
//         std::printf("%s: %zu rows left\n", clause.text.c_str(), clause.left);
//     glint::write_localizations("good.hdf5", good.table);
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

/// The effect of one clause. Clauses are the operands of `and`. Several conditions are also joined by `and`.
struct FilterClause {
    std::string text;
    std::size_t fulfilled = 0;  ///< rows of the whole table that fulfil the clause
    std::size_t left = 0;       ///< rows that fulfil the clause and all clauses before it
};

/// The result of filter().
struct Filtered {
    Localizations table;  ///< the rows that fulfil all conditions, in their order; the history has a new step
    std::vector<FilterClause> clauses;
};

/// Returns the rows that fulfil all `conditions`. A condition compares columns, with arithmetic, `and`, `or`, `not`,
/// percentile(), mode and neighbors(). The names of columns are those of Picasso's files. The name of a length may end
/// in its unit: `_px`, `_nm` or `_um`.
///
/// Percentiles, modes and neighbours are those of the whole table. A comparison with NaN is false, even `!=`. Computes
/// in double precision with all threads; the result does not depend on their number.
///
/// Throws Cancelled after `stop`, and OptionError if there is no condition or one is invalid. The message points to the
/// place in the text.
Filtered filter(const Localizations& table, std::span<const std::string> conditions, const StopFlag* stop = nullptr);

/// filter() for a table in pieces. This is a view of `table`, which must outlive it. The constructor visits the table
/// once for all clauses, and once more for each percentile, mode and neighbors(). It throws as filter().
///
/// Needs one byte per row. During construction, a percentile or mode needs another 8 bytes per row, neighbors() 36.
class FilteredTable final : public TablePieces {
  public:
    FilteredTable(TablePieces& table, std::span<const std::string> conditions, const StopFlag* stop = nullptr);
    const Localizations& like() const override { return like_; }
    void for_each(const Visit& visit) override;
    Localizations example() const override;

    const std::vector<FilterClause>& clauses() const { return clauses_; }
    std::size_t rows_before() const { return is_left_.size(); }  ///< rows of `table`
    std::size_t rows() const { return clauses_.back().left; }    ///< rows that fulfil all conditions

  private:
    friend Filtered filter(const Localizations&, std::span<const std::string>, const StopFlag*);
    Localizations left_of(const Localizations& piece, std::size_t before) const;

    TablePieces& table_;
    std::vector<FilterClause> clauses_;
    std::vector<std::uint8_t> is_left_;  ///< by row of `table`
    Localizations like_;
};

/// Throws OptionError as filter() if there is no condition or one has a syntax error. Does not check names of columns.
void check_conditions(std::span<const std::string> conditions);

}  // namespace glint
