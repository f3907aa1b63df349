// A CSV of numbers that a run wrote, as its figures show it.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace glint {

class NumberTable {
  public:
    /// Reads a file with one line of names. A field that is no number is NaN. A file that is missing or empty has no
    /// columns.
    static NumberTable read(const std::filesystem::path& file);

    std::size_t columns() const { return columns_.size(); }
    std::size_t rows() const { return columns_.empty() ? 0 : columns_[0].size(); }
    const std::vector<double>& column(std::size_t k) const { return columns_[k]; }
    /// Returns a column by its name; null if there is none.
    const std::vector<double>* find(const std::string& name) const;
    /// Returns how many rows have a finite number in a column.
    std::size_t finite_rows(std::size_t column) const;
    /// Returns the fields of the first column as text.
    const std::vector<std::string>& first_texts() const { return first_texts_; }

  private:
    std::vector<std::string> names_, first_texts_;
    std::vector<std::vector<double>> columns_;
};

}  // namespace glint
