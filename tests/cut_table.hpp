// A table in memory that is passed in pieces, as a large file is.
// SPDX-License-Identifier: MIT
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "glint/table_pieces.hpp"

namespace glint::test {

class CutTable final : public TablePieces {
  public:
    CutTable(const Localizations& table, std::size_t rows) : table_(table), rows_(rows), like_(cut(0, 1)) {}
    const Localizations& like() const override { return like_; }
    void for_each(const Visit& visit) override {
        for (std::size_t first = 0; first == 0 || first < table_.size(); first += rows_) visit(cut(first, rows_));
    }

  private:
    Localizations cut(std::size_t first, std::size_t rows) const {
        std::vector<std::size_t> keep(std::min(rows, table_.size() - first));
        std::iota(keep.begin(), keep.end(), first);
        return select(table_, keep);
    }

    const Localizations& table_;
    std::size_t rows_;
    Localizations like_;
};

/// Returns all pieces in one table.
inline Localizations joined(TablePieces& pieces) {
    Localizations out = select(pieces.like(), {});
    out.extra.clear();
    pieces.for_each([&](const Localizations& piece) { append(out, piece); });
    return out;
}

/// Compares each column and the metadata.
inline void expect_same(const Localizations& a, const Localizations& b) {
    for (const LocalizationColumn& column : localization_columns())
        EXPECT_EQ(a.*column.values, b.*column.values) << column.name;
    EXPECT_EQ(a.frame, b.frame);
    EXPECT_EQ(a.iterations, b.iterations);
    EXPECT_EQ(a.status, b.status);
    EXPECT_EQ(a.extra, b.extra);
    EXPECT_EQ(a.width, b.width);
    EXPECT_EQ(a.height, b.height);
    EXPECT_EQ(a.frames, b.frames);
    EXPECT_EQ(a.pixel_size_nm, b.pixel_size_nm);
    EXPECT_EQ(a.history, b.history);
}

}  // namespace glint::test
