// Tables of localizations in pieces of rows, so that those larger than memory can be worked on.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <span>
#include <string_view>

#include "glint/localizations.hpp"

namespace glint {

constexpr std::size_t usual_piece_bytes = std::size_t(1) << 28;  ///< memory of a piece
/// Returns the bytes of a row of such a table in memory.
std::size_t row_bytes(const Localizations& like);

/// The rows of a table, in pieces and in order, as often as needed.
class TablePieces {
  public:
    using Visit = std::function<void(const Localizations& piece)>;

    virtual ~TablePieces() = default;
    /// Returns the columns and the metadata of every piece, with at least one row, any, if the table has rows. If
    /// the table has several pieces, width and height are known.
    virtual const Localizations& like() const = 0;
    /// Calls `visit` with each piece. A table without rows is one piece without rows.
    virtual void for_each(const Visit& visit) = 0;
    /// For a table without rows: returns a row of any values with the columns that the table would have, and its
    /// metadata, as writers need it. Without a row if these columns are unknown.
    virtual Localizations example() const { return like(); }
};

/// Returns a row with the columns of `table`: its first, or its example() if it has none.
Localizations example_of(const TablePieces& table);

/// A view of a table in memory, as a single piece.
class WholeTable final : public TablePieces {
  public:
    explicit WholeTable(const Localizations& table) : table_(table) {}
    const Localizations& like() const override { return table_; }
    void for_each(const Visit& visit) override { visit(table_); }

  private:
    const Localizations& table_;
};

/// A view of a table whose pieces are changed as they pass. Those that have no rows afterwards are left out.
class ChangedTable final : public TablePieces {
  public:
    /// `rows_before` is of_example for the row of example(), which is none of the table and is to be kept.
    using Change = std::function<Localizations(const Localizations& piece, std::size_t rows_before)>;
    static constexpr std::size_t of_example = std::numeric_limits<std::size_t>::max();
    ChangedTable(TablePieces& table, Change change);
    const Localizations& like() const override { return like_; }
    void for_each(const Visit& visit) override;
    Localizations example() const override { return change_(example_of(table_), of_example); }

  private:
    TablePieces& table_;
    Change change_;
    Localizations like_;
};

/// Returns all pieces as one table in memory.
Localizations all_pieces(TablePieces& table);

/// Returns the whole table with the frame, only these columns (as `localization_columns` and the file name them)
/// and the metadata. Columns that the table does not have are ignored.
Localizations with_columns(TablePieces& table, std::span<const std::string_view> names);
/// Positions and their precisions, which drift, links and scores are estimated from.
inline constexpr std::string_view columns_of_positions[] = {"x", "y", "z", "lpx", "lpy", "lpz"};

}  // namespace glint
