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
/// Bytes that a row of such a table takes in memory.
std::size_t row_bytes(const Localizations& like);

/// The rows of a table, some at a time and in order, as often as they are wanted.
class TablePieces {
  public:
    using Visit = std::function<void(const Localizations& piece)>;

    virtual ~TablePieces() = default;
    /// The columns and the metadata of every piece, with a row or more, whichever, if the table has any. Of a table in several
    /// pieces width and height are known.
    virtual const Localizations& like() const = 0;
    /// Calls `visit` with each piece. A table without rows is one piece without rows.
    virtual void for_each(const Visit& visit) = 0;
    /// Of a table without rows: a row of any values with the columns that it would have, and its metadata, as writers need it. Without a row
    /// where these columns are not known.
    virtual Localizations example() const { return like(); }
};

/// A row with the columns of `table`: of the table, or where it has none, its example().
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

/// All pieces as one table in memory.
Localizations all_pieces(TablePieces& table);

/// The whole table with the frame and these columns alone (as `localization_columns` and the file name them; those that it does not
/// have are passed over), and the metadata.
Localizations with_columns(TablePieces& table, std::span<const std::string_view> names);
/// Positions and their precisions, which drift, links and scores are estimated from.
inline constexpr std::string_view columns_of_positions[] = {"x", "y", "z", "lpx", "lpy", "lpz"};

}  // namespace glint
