// Several tables of localizations as one.
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

/// What the frame numbers of merged tables mean.
enum class FramesOfMerged {
    as_they_are,  ///< all tables are of the same movie, e.g. of parts of it: rows are ordered by frame
    consecutive,  ///< the movies follow one another: a table's frames count on after those of the one before
};

/// Returns the rows of all tables, with the columns that every table has; `warn` names the others. The history is
/// the first table's, with the linking steps of the other tables and a step for the merge. Throws OptionError for
/// tables of different pixel sizes.
Localizations merge(std::span<const Localizations> tables, FramesOfMerged frames = FramesOfMerged::as_they_are,
                    const Warn& warn = {});

/// The same for tables in pieces, in memory for a piece. Construction visits each table once. If rows are ordered
/// by frame, all are visited once more for every `piece_bytes` of their rows; rows of one frame stay together.
class MergedTable final : public TablePieces {
  public:
    MergedTable(std::span<TablePieces* const> tables, FramesOfMerged frames, const Warn& warn = {},
                std::size_t piece_bytes = usual_piece_bytes);
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

    std::vector<Part> parts_;  ///< those that have rows
    FramesOfMerged frames_;
    std::set<std::string> names_, integers_;  ///< the columns that all have, and those of integers in all
    std::vector<std::uint32_t> last_frames_;  ///< of each piece in the order of frames
    std::size_t rows_ = 0;
    Localizations like_, example_;
};

}  // namespace glint
