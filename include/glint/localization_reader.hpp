// Reads and writes tables of localizations in pieces, for tables larger than memory.
//
//     glint::LocalizationReader table("movie.hdf5");
//     double photons = 0;
//     table.for_each([&](const glint::Localizations& piece) {
//         photons = std::accumulate(piece.photons.begin(), piece.photons.end(), photons);
//     });
//     std::printf("%zu rows, %.4g photons\n", table.rows(), photons);
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

/// Options of LocalizationReader.
struct PieceOptions {
    double pixel_size_nm = 0;                       ///< as for read_localizations()
    std::size_t piece_bytes = default_piece_bytes;  ///< memory of a piece; a smaller table is read once, and kept
    const StopFlag* stop = nullptr;                 ///< polled before each piece
    TextConventions text = {};                      ///< for text tables
};

/// A table in a file, which can be read piece by piece several times. Its rows, columns and metadata are those of
/// read_localizations(). Needs memory for two pieces.
///
/// The constructor reads the whole table if its metadata depend on all rows: for a text, or a movie of unknown size. A
/// text is slower to read by a factor of ten. It is therefore read once and kept if it is at most four times as large
/// as a piece.
///
/// The constructor and for_each() throw InputError if the file cannot be read or has changed, and Cancelled after a
/// stop. The constructor throws OptionError as read_localizations().
class LocalizationReader final : public TablePieces {
  public:
    explicit LocalizationReader(const std::filesystem::path& path, const Warn& warn = {},
                                const PieceOptions& options = {});
    ~LocalizationReader() override;
    const Localizations& like() const override;
    void for_each(const Visit& visit) override;
    Localizations example() const override;
    /// Returns the number of rows of the last for_each().
    std::size_t rows() const;

    struct State;

  private:
    std::unique_ptr<State> state_;
};

/// Writes a table in pieces, with memory for one piece. The file is identical to that of the same table in memory.
/// Visits all pieces twice. Returns LocalizationWriter::hidden_rows(). Throws as write_localizations() of a table in
/// memory, and what the table throws.
std::size_t write_localizations(const std::filesystem::path& path, TablePieces& table, const Warn& warn = {},
                                IfExists if_exists = IfExists::replace);

}  // namespace glint
