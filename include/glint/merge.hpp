// Merges several tables of localizations into one.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "glint/localizations.hpp"
#include "glint/progress.hpp"
#include "glint/table_pieces.hpp"

namespace glint {

/// The relation between the frame numbers of merged tables.
enum class FramesOfMerged {
    as_they_are,  ///< all tables are of the same movie, e.g. of parts of it: rows are ordered by frame
    consecutive,  ///< the movies follow one another: the frames of a table continue after those of the previous table
};

/// Returns the rows of all tables, with the columns that every table has. Reports omitted columns to `warn`. The
/// history is the first table's, with the linking steps of the other tables and a step for the merge. Throws
/// OptionError if there is no table, the pixel sizes differ, or there are more than 2^32 - 1 frames.
Localizations merge(std::span<const Localizations> tables, FramesOfMerged frames = FramesOfMerged::as_they_are,
                    const Warn& warn = {});

/// merge() for tables in pieces, with memory for one piece. This is a view of the tables, which must outlive it. The
/// constructor visits each table once. It throws as merge().
///
/// To order rows by frame, for_each() visits all tables once for every `piece_bytes` of their rows. The rows of a frame
/// stay together.
class MergedTable final : public TablePieces {
  public:
    MergedTable(std::span<TablePieces* const> tables, FramesOfMerged frames, const Warn& warn = {},
                std::size_t piece_bytes = default_piece_bytes);
    const Localizations& like() const override { return like_; }
    void for_each(const Visit& visit) override;
    Localizations example() const override { return example_; }
    std::size_t rows() const { return rows_; }

  private:
    struct Part {
        TablePieces* table;
        std::uint32_t frames_before;
    };
    Localizations of_part(const Localizations& piece, const Part& part) const;
    void in_order_of_frames(const Visit& visit);

    std::vector<Part> parts_;  ///< tables that have rows
    FramesOfMerged frames_;
    std::set<std::string> names_, integers_;  ///< columns of all tables; columns of integers in all tables
    std::vector<std::uint32_t> last_frames_;  ///< last frame of each piece, if rows are ordered by frame
    std::size_t rows_ = 0;
    Localizations like_, example_;
};

}  // namespace glint
