// Reads and writes tables of localizations in pieces, in memory for one of them.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>

#include "glint/if_exists.hpp"
#include "glint/localization_io.hpp"
#include "glint/progress.hpp"
#include "glint/table_pieces.hpp"

namespace glint {

struct PieceOptions {
    double pixel_size_nm = 0;                     ///< as read_localizations takes it
    std::size_t piece_bytes = usual_piece_bytes;  ///< memory of a piece; a smaller table is read once, and kept
    const StopFlag* stop = nullptr;               ///< looked at before each piece
    TextConventions text = {};                    ///< of a text table
};

/// A table in a file, read piece by piece, as often as needed: the same rows, columns and metadata as those of
/// read_localizations. Needs memory for two pieces.
/// A table that is larger than a piece is read once more if its facts need all rows: a text, or a movie of unknown
/// size. A text, which takes ten times as long to read, is read once and kept up to four times the size of a piece.
/// Throws InputError, also if the file changes meanwhile; Cancelled.
class LocalizationReader final : public TablePieces {
  public:
    explicit LocalizationReader(const std::filesystem::path& path, const Warn& warn = {},
                                const PieceOptions& options = {});
    ~LocalizationReader() override;
    const Localizations& like() const override;
    void for_each(const Visit& visit) override;
    Localizations example() const override;
    /// Returns the number of rows that the last for_each passed.
    std::size_t rows() const;

    struct State;

  private:
    std::unique_ptr<State> state_;
};

/// As write_localizations of a table in memory: the same bytes, in memory for a piece. Visits all pieces twice.
std::size_t write_localizations(const std::filesystem::path& path, TablePieces& table, const Warn& warn = {},
                                IfExists if_exists = IfExists::replace);

}  // namespace glint
