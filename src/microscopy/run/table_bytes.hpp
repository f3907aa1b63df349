// Localizations as bytes, column by column, for the journal.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "glint/localizations.hpp"

namespace glint {

/// Appends `count` bytes.
void put_bytes(const void* from, std::size_t count, std::vector<char>& bytes);

/// The columns of a table, and the layout of its rows in bytes (host order). Created from a table with one row.
class TableLayout {
  public:
    explicit TableLayout(const Localizations& like);

    std::size_t row_bytes() const;
    std::string names() const;  ///< "frame x y ..."
    /// Appends the rows of `table`; an empty table adds nothing.
    void write(const Localizations& table, std::vector<char>& bytes) const;
    /// Reads `rows` rows from `bytes` (rows * row_bytes() of them).
    Localizations read(const char* bytes, std::size_t rows) const;

  private:
    std::vector<LocalizationColumn> floats_;
    /// The extra parameters of a PSF model: names, and whether they are integers. All are stored as doubles.
    std::vector<std::pair<std::string, bool>> extra_;
    bool iterations_ = false, status_ = false;
};

}  // namespace glint
