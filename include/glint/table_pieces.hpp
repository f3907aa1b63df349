// Tables of localizations in pieces of rows, for tables that are larger than memory.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <span>
#include <string_view>

#include "glint/localizations.hpp"

namespace glint {

constexpr std::size_t default_piece_bytes = std::size_t(1) << 28;  ///< memory of a piece
/// Returns the bytes of a row in memory, for a table with the columns of `like`.
std::size_t row_bytes(const Localizations& like);

/// A table whose rows can be visited in pieces and in order, any number of times.
class TablePieces {
  public:
    using Visit = std::function<void(const Localizations& piece)>;

    virtual ~TablePieces() = default;
    /// Returns a table with the columns and the metadata of every piece. It contains at least one row, which may be any
    /// row, if the table has rows. Width and height are known if the table has several pieces.
    virtual const Localizations& like() const = 0;
    /// Calls `visit` with each piece. A table without rows is one piece without rows.
    virtual void for_each(const Visit& visit) = 0;
    /// For a table without rows: returns one row of arbitrary values with the columns and metadata that writers need,
    /// or no row if these columns are unknown.
    virtual Localizations example() const { return like(); }
};

/// Returns a row with the columns of `table`: its first row, or its example() if there are no rows.
Localizations make_example(const TablePieces& table);

/// A view of a table in memory, as a single piece. The table must outlive this view.
class WholeTable final : public TablePieces {
  public:
    explicit WholeTable(const Localizations& table) : table_(table) {}
    const Localizations& like() const override { return table_; }
    void for_each(const Visit& visit) override { visit(table_); }

  private:
    const Localizations& table_;
};

/// A view of a table that applies a change to each piece. Omits pieces that have no rows afterwards. `table` must
/// outlive this view.
class ChangedTable final : public TablePieces {
  public:
    /// Returns the changed piece. `rows_before`: rows of the table before the piece; of_example for the row of
    /// example(), which is not a row of the table and must be kept.
    using Change = std::function<Localizations(const Localizations& piece, std::size_t rows_before)>;
    static constexpr std::size_t of_example = std::numeric_limits<std::size_t>::max();
    ChangedTable(TablePieces& table, Change change);
    const Localizations& like() const override { return like_; }
    void for_each(const Visit& visit) override;
    Localizations example() const override { return change_(make_example(table_), of_example); }

  private:
    TablePieces& table_;
    Change change_;
    Localizations like_;
};

/// Returns all pieces as one table in memory.
Localizations all_pieces(TablePieces& table);

/// Returns the whole table in memory, with only the frame, these columns and the metadata. Names are those of
/// `localization_columns` and of extra columns. Ignores columns that the table does not have.
Localizations with_columns(TablePieces& table, std::span<const std::string_view> names);
/// The columns that drift, links and scores need: positions and their precisions.
inline constexpr std::string_view columns_of_positions[] = {"x", "y", "z", "lpx", "lpy", "lpz"};

}  // namespace glint
